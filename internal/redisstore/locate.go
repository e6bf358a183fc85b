package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// location is where the server is: at an address, or where Sentinels say it is.
type location struct {
	options   *redis.Options
	master    string   // the name by which the Sentinels know the server; empty: it is at options.Addr
	sentinels []string // host:port
	login     credentials
}

// locate parses an address.
func locate(address string, set settings) (location, error) {
	u, err := url.Parse(address)
	if err == nil {
		l, fault := parse(u)
		if fault == nil {
			return l.set(set)
		}
		err = fault
	}
	var spelled *url.Error // its text repeats the whole address with the password
	if errors.As(err, &spelled) {
		err = spelled.Err
	}
	return location{}, fmt.Errorf("read the address, which has the form redis://user:password@host:6379/0, or rediss:// "+
		"for TLS, and for Sentinels redis://user:password@sentinel:26379/0?master_name=NAME&addr=sentinel2:26379: %w", err)
}

// parse takes what is said of Sentinels from an address, and leaves the rest to the client.
func parse(u *url.URL) (location, error) {
	var l location
	bare, query := *u, u.Query()
	l.master = query.Get("master_name")
	for _, at := range query["addr"] {
		if _, _, err := net.SplitHostPort(at); err != nil {
			return l, fmt.Errorf("addr=%s must be the host and port of a Sentinel: %w", at, err)
		}
	}
	l.sentinels = query["addr"]
	if l.master == "" && len(l.sentinels) > 0 {
		return l, errors.New("addr names a Sentinel, and master_name is missing")
	}
	query.Del("master_name")
	query.Del("addr")
	bare.RawQuery = query.Encode()
	if l.master != "" && bare.Port() == "" {
		bare.Host = net.JoinHostPort(bare.Hostname(), "26379")
	}
	var err error
	l.options, err = redis.ParseURL(bare.String())
	if err == nil && l.master != "" {
		l.sentinels = append([]string{l.options.Addr}, l.sentinels...)
	}
	return l, err
}

// set puts the settings of a store into the options of its client.
func (l location) set(set settings) (location, error) {
	if set.timeout <= 0 || set.pool <= 0 {
		return l, fmt.Errorf("timeout is %v and connections are %d; both must be above zero", set.timeout, set.pool)
	}
	o := l.options
	o.Protocol = 2
	o.MaxRetries = -1 // a script whose reply was lost may have run: only exchange knows which may run again
	o.DialerRetries = 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = set.timeout, set.timeout, set.timeout
	o.ContextTimeoutEnabled = true
	o.PoolSize, o.PoolTimeout = set.pool, set.timeout
	// One pool for all: after a failover behind one name, a connection to the old primary ends with the first write on
	// it, but not within a pipeline.
	o.PipelinePoolSize = -1
	o.ClientName = "oneiros"
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	l.login = set.sentinel
	if set.tls != nil && o.TLSConfig == nil {
		return l, errors.New("certificates are given, and the address does not begin with rediss://")
	}
	if o.TLSConfig != nil {
		o.TLSConfig = l.secured(set.tls)
	}
	return l, nil
}

// secured is how TLS is spoken. Sentinels name servers by addresses of their own, so that each is expected to have the
// name it is reached by.
func (l location) secured(given *tls.Config) *tls.Config {
	from := l.options.TLSConfig
	if given == nil {
		given = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	conf := given.Clone()
	conf.InsecureSkipVerify = from.InsecureSkipVerify
	if conf.ServerName == "" && l.master == "" {
		conf.ServerName = from.ServerName
	}
	return conf
}

// name is the server without its password.
func (l location) name() string {
	if l.master == "" {
		return fmt.Sprintf("%s/%d", l.options.Addr, l.options.DB)
	}
	return fmt.Sprintf("%s/%d of the Sentinels %s", l.master, l.options.DB, strings.Join(l.sentinels, ", "))
}

func (l location) client() *redis.Client {
	if l.master == "" {
		return redis.NewClient(l.options)
	}
	o := l.options
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:            l.master,
		SentinelAddrs:         l.sentinels,
		SentinelUsername:      l.login.user,
		SentinelPassword:      l.login.password,
		ClientName:            o.ClientName,
		OnConnect:             o.OnConnect,
		Protocol:              o.Protocol,
		Username:              o.Username,
		Password:              o.Password,
		DB:                    o.DB,
		MaxRetries:            o.MaxRetries,
		DialTimeout:           o.DialTimeout,
		DialerRetries:         o.DialerRetries,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		PipelinePoolSize:      o.PipelinePoolSize,
		PoolSize:              o.PoolSize,
		PoolTimeout:           o.PoolTimeout,
		TLSConfig:             o.TLSConfig,
		DisableIdentity:       o.DisableIdentity,
	})
	client.AddHook(askingSentinels{l.master})
	return client
}

// askingSentinels tells what Sentinels reply from what the server replies: a Sentinel that knows no such server replies
// as a server does that has no such key.
type askingSentinels struct{ master string }

// DialHook hides the replies of Sentinels from those who look for the server's.
func (a askingSentinels) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		var reply redis.Error
		switch {
		case err == nil || !errors.As(err, &reply):
			return conn, err
		case errors.Is(err, redis.Nil):
			return conn, fmt.Errorf("the Sentinels know no server of the name %q (master_name)", a.master)
		case errors.Is(refusedCredentials(reply), ErrCredentials):
			return conn, fmt.Errorf("a Sentinel says: %w: %s", ErrCredentials, reply.Error())
		}
		return conn, fmt.Errorf("a Sentinel says: %s", reply.Error())
	}
}

// ProcessHook changes nothing.
func (askingSentinels) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook changes nothing.
func (askingSentinels) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
