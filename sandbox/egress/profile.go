package egress

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/reflection-dev/zeno/sandbox/secret"
)

// Profile is a policy and secrets as a file holds them, with where each value comes from. It holds no value.
type Profile struct {
	Policy  Policy
	Secrets []Secret // without values
	// From resolves the secrets that name a source, by their Env. The others come from the environment.
	From map[string]secret.Resolver
	// Endpoint, if not nil, is Internal.Endpoint; TokenEnv names the variable with its token, on both sides.
	Endpoint *url.URL
	TokenEnv string
}

// ParseProfile reads a profile out of plain data, as JSON or EDN give it:
//
//	{:egress   POLICY                                    ; as ParsePolicy reads it
//	 :secrets  [{:env "GH_TOKEN" :hosts ["github.com"] :in ["query"]
//	             :from {:env "VAR"}}]                    ; or {:file "/path"}, {:exec ["pass" "show" "x"]}
//	 :internal {:endpoint "http://127.0.0.1:8080/mcp/worker" :token-env "ZENO_TOKEN"}}
func ParseProfile(v any) (*Profile, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("profile: got %T, want a map of :egress, :secrets and :internal", v)
	}
	p := &Profile{Policy: Policy{Default: Deny}, From: map[string]secret.Resolver{}}
	for k, v := range m {
		var err error
		switch k {
		case "egress":
			p.Policy, err = ParsePolicy(v)
		case "secrets":
			err = p.secrets(v)
		case "internal":
			err = p.internal(v)
		default:
			err = fmt.Errorf("profile: got the key :%s, want :egress, :secrets, :internal", k)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Profile) secrets(v any) error {
	xs, ok := v.([]any)
	if !ok {
		return errors.New("profile: want :secrets to be a vector of maps")
	}
	for i, x := range xs {
		m, ok := x.(map[string]any)
		if !ok {
			return fmt.Errorf("secret %d: want a map of :env, :hosts, :in and :from", i)
		}
		if err := p.secret(i, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) secret(i int, m map[string]any) error {
	var s Secret
	var from any
	for k, v := range m {
		ok := true
		switch k {
		case "env":
			s.Env, ok = v.(string)
		case "hosts":
			s.Hosts, ok = texts(v)
		case "in":
			var places []string
			places, ok = texts(v)
			for _, place := range places {
				s.In = append(s.In, Place(place))
			}
		case "from":
			from = v
		default:
			// The value is in no message: who writes the secret itself here is not to find it in a log.
			return fmt.Errorf("secret %d: got the key :%s, want :env, :hosts, :in, :from; a value has no place in a file", i, k)
		}
		if !ok {
			return fmt.Errorf("secret %d: got :%s of another form, want :env \"NAME\", :hosts [\"NAME\"], :in [\"query\" \"body\"]", i, k)
		}
	}
	if from != nil {
		r, err := secret.Of(from)
		if err != nil {
			return fmt.Errorf("secret %s: %w", s.Env, err)
		}
		p.From[s.Env] = r
	}
	p.Secrets = append(p.Secrets, s)
	return nil
}

func texts(v any) ([]string, bool) {
	xs, ok := v.([]any)
	if !ok {
		return nil, false
	}
	var out []string
	for _, x := range xs {
		s, ok := x.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func (p *Profile) internal(v any) error {
	m, _ := v.(map[string]any)
	endpoint, ok := m["endpoint"].(string)
	if !ok {
		return errors.New("profile: want :internal to be {:endpoint \"http://ADDRESS:PORT/mcp/ROLE\" :token-env \"VAR\"}")
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("profile: got the endpoint %q, want http://ADDRESS:PORT/mcp/ROLE", endpoint)
	}
	p.Endpoint = u
	if env, there := m["token-env"]; there {
		if p.TokenEnv, ok = env.(string); !ok {
			return errors.New("profile: want :token-env to be the name of a variable")
		}
	}
	return nil
}

// Config resolves the profile's secrets and gives what New takes. The error names every secret without a value.
func (p *Profile) Config(ctx context.Context, other secret.Resolver) (Config, error) {
	find := secret.Func(func(ctx context.Context, name string) (secret.Value, error) {
		if r := p.From[name]; r != nil {
			return r.Resolve(ctx, name)
		}
		return other.Resolve(ctx, name)
	})
	secrets, err := ResolveSecrets(ctx, p.Secrets, find)
	if err != nil {
		return Config{}, err
	}
	conf := Config{Policy: p.Policy, Secrets: secrets}
	if p.Endpoint != nil {
		conf.Internal = &Internal{Endpoint: p.Endpoint, TokenEnv: p.TokenEnv}
	}
	if p.TokenEnv != "" {
		if conf.Internal.Token, err = find.Resolve(ctx, p.TokenEnv); err != nil {
			return Config{}, err
		}
	}
	return conf, nil
}
