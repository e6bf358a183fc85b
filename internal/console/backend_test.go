package console_test

import (
	"context"
	"errors"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/starter"
)

// errNotSet is the answer of a test's function that was not set.
var errNotSet = errors.New("this test has not set it")

// backend is a backend of a test's functions.
type backend struct {
	cli.Backend

	open   func(ctx context.Context) (*deploy.Deployment, error)
	env    map[string]string
	rules  map[string]policy.Rules // by handle
	dream  engines
	hooks  hooks
	stores stores
	rooms  func(h *deploy.Deployment) *deploy.RoomSession
}

// engines are what commands on dreams call. Reach and Waker find no server when they are not set.
type engines struct {
	Reach, Work     func(context.Context, *deploy.Deployment) (deploy.Engine, error)
	Up, Here, Serve func(context.Context, *deploy.Deployment, func(string, ...any)) (deploy.Engine, error)
	Waker           func(context.Context, *deploy.Deployment) (deploy.Waker, error)
	Active          func(ctx context.Context, h *deploy.Deployment, handle string)
	Abandon         func(ctx context.Context, h *deploy.Deployment, agent, dreamID string) error

	Estimate      func(context.Context, starter.DreamRequest) (starter.Estimate, error)
	EstimateAgain func(context.Context, starter.RedreamRequest) (starter.Estimate, error)
	Rehearse      func(context.Context, starter.DreamRequest) (starter.Rehearsal, error)
}

// planner is a planner of a test's functions.
type planner struct{ engines }

func (p planner) Estimate(ctx context.Context, w starter.DreamRequest) (starter.Estimate, error) {
	if p.engines.Estimate == nil {
		return starter.Estimate{}, errNotSet
	}
	return p.engines.Estimate(ctx, w)
}

func (p planner) EstimateRedream(ctx context.Context, w starter.RedreamRequest) (starter.Estimate, error) {
	return p.engines.EstimateAgain(ctx, w)
}

func (p planner) Rehearse(ctx context.Context, w starter.DreamRequest) (starter.Rehearsal, error) {
	return p.engines.Rehearse(ctx, w)
}

// hooks are the configured hooks of a test.
type hooks struct {
	Rules func() (rules []activities.HookRule, urls map[string]string, err error)
	Fit   func(name string) (activities.Hook, activities.HookRule, error)
}

// stores are the stores that a test moves.
type stores struct {
	Here, Fill func(ctx context.Context) (deploy.Deposit, error)
	There      func(ctx context.Context, p deploy.StorePlace) (deploy.Deposit, error)
	Absent     func(ctx context.Context) (path string, absent bool, err error)
	Begin      func(ctx context.Context) error
}

func (b backend) Configuration() deploy.Configuration {
	return deploy.Configuration{Settings: []config.Setting{
		{Key: "dream.cycles", Value: "3", Default: "3", Source: "default"},
		{Key: "money.dream", Value: "$0.25", Default: "$0.50", Source: "file oneiros.yaml"},
	}, File: "oneiros.yaml"}
}

func (b backend) Getenv(name string) string { return b.env[name] }

func (b backend) Policy(handle string) (policy.Rules, error) { return b.rules[handle], nil }

func (b backend) Open(ctx context.Context) (*deploy.Deployment, error) { return b.open(ctx) }

func (b backend) HookRules() ([]activities.HookRule, map[string]string, error) {
	if b.hooks.Rules == nil {
		return nil, nil, nil
	}
	return b.hooks.Rules()
}

func (b backend) Hook(name string) (activities.Hook, activities.HookRule, error) {
	return b.hooks.Fit(name)
}

func (b backend) Reach(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error) {
	if b.dream.Reach == nil {
		return nil, deploy.ErrNoServer
	}
	return b.dream.Reach(ctx, h)
}

func (b backend) Work(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error) {
	return b.dream.Work(ctx, h)
}

func (b backend) Up(ctx context.Context, h *deploy.Deployment, note func(string, ...any)) (deploy.Engine, error) {
	return b.dream.Up(ctx, h, note)
}

func (b backend) ForOneDream(ctx context.Context, h *deploy.Deployment,
	note func(string, ...any),
) (deploy.Engine, error) {
	return b.dream.Here(ctx, h, note)
}

func (b backend) Serve(
	ctx context.Context,
	h *deploy.Deployment,
	note func(string, ...any),
) (deploy.Engine, error) {
	return b.dream.Serve(ctx, h, note)
}

func (b backend) Rooms(_ context.Context, h *deploy.Deployment) (*deploy.RoomSession, error) {
	if b.rooms == nil {
		return nil, errNotSet
	}
	return b.rooms(h), nil
}

func (b backend) Waker(ctx context.Context, h *deploy.Deployment) (deploy.Waker, error) {
	if b.dream.Waker == nil {
		return nil, deploy.ErrNoServer
	}
	return b.dream.Waker(ctx, h)
}

func (b backend) Active(ctx context.Context, h *deploy.Deployment, handle string) {
	if b.dream.Active != nil {
		b.dream.Active(ctx, h, handle)
	}
}

func (b backend) Abandon(ctx context.Context, h *deploy.Deployment, agent, dreamID string) error {
	return b.dream.Abandon(ctx, h, agent, dreamID)
}

func (b backend) StoreToRead(ctx context.Context) (deploy.Deposit, error) { return b.stores.Here(ctx) }

func (b backend) StoreToFill(ctx context.Context) (deploy.Deposit, error) { return b.stores.Fill(ctx) }

func (b backend) OtherStore(ctx context.Context, p deploy.StorePlace) (deploy.Deposit, error) {
	return b.stores.There(ctx, p)
}

func (b backend) StoreAbsent(ctx context.Context) (path string, absent bool, err error) {
	return b.stores.Absent(ctx)
}

func (b backend) NewStore(ctx context.Context) error { return b.stores.Begin(ctx) }
