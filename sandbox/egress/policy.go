package egress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mode is what happens to a name that no rule is about.
type Mode string

// The modes.
const (
	// Deny refuses every name that Allow does not name.
	Deny Mode = "deny"
	// Public allows every name that resolves to a public address, at the ports 80 and 443.
	Public Mode = "public"
	// None is no network at all, but for zeno.internal.
	None Mode = "none"
)

// MaxRules bounds each list of a policy.
const MaxRules = 1000

// Policy says what a box may reach. A name that Deny names is refused whatever Allow says.
type Policy struct {
	// Default is the mode. Empty: Deny.
	Default Mode
	Allow   []Rule
	Deny    []Rule
	// HidePaths leaves the paths of requests out of events.
	HidePaths bool
}

// policy is a Policy ready for use.
type policy struct {
	mode        Mode
	allow, deny []rule
}

func (p Policy) compile() (*policy, error) {
	out := &policy{mode: p.Default}
	switch p.Default {
	case "":
		out.mode = Deny
	case Deny, Public:
	case None:
		if len(p.Allow) > 0 {
			return nil, fmt.Errorf("egress: got :default :none together with :allow, want :default :deny for a list of names")
		}
	default:
		return nil, fmt.Errorf("egress: got the default %q, want :deny, :public or :none", string(p.Default))
	}
	var err error
	if out.allow, err = compileRules("allow", p.Allow); err != nil {
		return nil, err
	}
	out.deny, err = compileRules("deny", p.Deny)
	return out, err
}

func compileRules(list string, rules []Rule) ([]rule, error) {
	if len(rules) > MaxRules {
		return nil, fmt.Errorf("egress: got %d rules in :%s, want at most %d", len(rules), list, MaxRules)
	}
	var out []rule
	for _, r := range rules {
		c, err := r.compile()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// target is where a name at a port leads: by the zero target, to what the name resolves to if that is public.
type target struct{ rule }

// find decides about name at port.
func (p *policy) find(name string, port int) (target, bool) {
	for i := range p.deny {
		if r := &p.deny[i]; r.names(name) && (r.port == 0 || r.port == port) {
			return target{}, false
		}
	}
	// The rule that says most decides: one with an address before one without.
	var found *rule
	for i := range p.allow {
		if r := &p.allow[i]; r.matches(name, port) && (found == nil || !found.placed() && r.placed()) {
			found = r
		}
	}
	switch {
	case found != nil:
		return target{*found}, true
	case p.mode == Public && (port == 80 || port == 443):
		return target{}, true
	}
	return target{}, false
}

// knows tells whether name is allowed at any port.
func (p *policy) knows(name string) bool {
	if _, ok := p.find(name, 443); ok {
		return true
	}
	if _, ok := p.find(name, 80); ok {
		return true
	}
	for i := range p.allow {
		r := &p.allow[i]
		for _, port := range []int{r.port, r.toPort} {
			if port != 0 && r.names(name) {
				if _, ok := p.find(name, port); ok {
					return true
				}
			}
		}
	}
	return false
}

func (c *rule) placed() bool { return c.addr.IsValid() || c.net.IsValid() }

// ports are the ports besides 80 and 443 that some rule allows.
func (p *policy) ports() []int {
	var out []int
	for i := range p.allow {
		for _, port := range []int{p.allow[i].port, p.allow[i].toPort} {
			if port != 0 && port != 80 && port != 443 {
				out = append(out, port)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ParsePolicy reads a policy out of plain data, as JSON or EDN give it: "deny", "public", "none", or a map of default,
// allow, deny and hide-paths. A rule is a string, or a map of host, addr and port. Keywords are their names.
func ParsePolicy(v any) (Policy, error) {
	switch v := v.(type) {
	case nil:
		return Policy{Default: Deny}, nil
	case string:
		p := Policy{Default: Mode(v)}
		_, err := p.compile()
		return p, err
	case map[string]any:
		return policyOf(v)
	}
	return Policy{}, fmt.Errorf("egress: got %T, want :deny, :public, :none or a map of :default, :allow and :deny", v)
}

func policyOf(m map[string]any) (Policy, error) {
	p := Policy{Default: Deny}
	for k, v := range m {
		var err error
		switch k {
		case "default":
			s, ok := v.(string)
			if !ok {
				return p, fmt.Errorf("egress: got %v as :default, want :deny, :public or :none", v)
			}
			p.Default = Mode(s)
		case "allow":
			p.Allow, err = rulesOf(k, v)
		case "deny":
			p.Deny, err = rulesOf(k, v)
		case "hide-paths":
			hide, ok := v.(bool)
			if !ok {
				return p, fmt.Errorf("egress: got %v as :hide-paths, want true or false", v)
			}
			p.HidePaths = hide
		default:
			return p, fmt.Errorf("egress: got the key :%s, want :default, :allow, :deny, :hide-paths", k)
		}
		if err != nil {
			return p, err
		}
	}
	_, err := p.compile()
	return p, err
}

func rulesOf(list string, v any) ([]Rule, error) {
	xs, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("egress: got %v as :%s, want a vector of rules", v, list)
	}
	out := make([]Rule, 0, len(xs))
	for _, x := range xs {
		r, err := ruleOf(x)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func ruleOf(v any) (Rule, error) {
	switch v := v.(type) {
	case string:
		return ParseRule(v)
	case map[string]any:
		var r Rule
		for k, x := range v {
			s, isText := x.(string)
			n, isInt := wholeNumber(x)
			switch {
			case k == "host" && isText:
				r.Host = s
			case k == "addr" && isText:
				r.Addr = s
			case k == "port" && isInt:
				r.Port = n
			default:
				return r, fmt.Errorf("egress rule: got :%s %v, want :host \"NAME\", :addr \"IP:PORT\" and :port NUMBER", k, x)
			}
		}
		return r, nil
	}
	return Rule{}, fmt.Errorf("egress rule: got %v, want a string or a map of :host, :addr and :port", v)
}

func wholeNumber(x any) (int, bool) {
	switch n := x.(type) {
	case int64:
		return int(n), true
	case int:
		return n, true
	case float64:
		return int(n), n == float64(int(n))
	case string:
		i, err := strconv.Atoi(strings.TrimSpace(n))
		return i, err == nil
	}
	return 0, false
}
