package main

import (
	"bytes"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stage is what a stage of a Dockerfile says of its image.
type stage struct {
	config v1.Config
	copies []instructions.CopyCommand
	args   []string
}

// lastStage reads the last stage of a Dockerfile, with values for the arguments of its build.
func lastStage(text []byte, args map[string]string) (stage, error) {
	tree, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return stage{}, err
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		return stage{}, err
	}
	s := stage{config: v1.Config{Labels: map[string]string{}}}
	expand := func(word string) (string, error) {
		for name, value := range args {
			if word == "$"+name || word == "${"+name+"}" {
				return value, nil
			}
		}
		return word, nil
	}
	for _, command := range stages[len(stages)-1].Commands {
		if c, ok := command.(instructions.SupportsSingleWordExpansion); ok {
			if err := c.Expand(expand); err != nil {
				return stage{}, err
			}
		}
		if err := s.apply(command); err != nil {
			return stage{}, err
		}
	}
	return s, nil
}

// apply notes an instruction as a container engine would. One that it does not know is an error.
func (s *stage) apply(command instructions.Command) error {
	switch c := command.(type) {
	case *instructions.ArgCommand:
		for _, arg := range c.Args {
			s.args = append(s.args, arg.Key)
		}
	case *instructions.LabelCommand:
		for _, pair := range c.Labels {
			s.config.Labels[pair.Key] = pair.Value
		}
	case *instructions.EnvCommand:
		for _, pair := range c.Env {
			s.config.Env = append(s.config.Env, pair.String())
		}
	case *instructions.CopyCommand:
		s.copies = append(s.copies, *c)
	case *instructions.WorkdirCommand:
		s.config.WorkingDir = c.Path
	case *instructions.UserCommand:
		s.config.User = c.User
	case *instructions.VolumeCommand:
		s.config.Volumes = asSet(c.Volumes)
	case *instructions.ExposeCommand:
		s.config.ExposedPorts = asSet(c.Ports)
	case *instructions.EntrypointCommand:
		s.config.Entrypoint = c.CmdLine
	case *instructions.CmdCommand:
		s.config.Cmd = c.CmdLine
	case *instructions.StopSignalCommand:
		s.config.StopSignal = c.Signal
	case *instructions.HealthCheckCommand:
		s.config.Healthcheck = &v1.HealthConfig{
			Test:        c.Health.Test,
			Interval:    c.Health.Interval,
			Timeout:     c.Health.Timeout,
			StartPeriod: c.Health.StartPeriod,
			Retries:     c.Health.Retries,
		}
	default:
		return fmt.Errorf("the last stage has %s, which the images built without an engine cannot have", command.Name())
	}
	return nil
}

func asSet(names []string) map[string]struct{} {
	set := map[string]struct{}{}
	for _, name := range names {
		set[name] = struct{}{}
	}
	return set
}
