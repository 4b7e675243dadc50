package msb

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
)

// prefix keeps our boxes apart from the user's own, which --replace must not end.
const prefix = "zeno-"

// slack is what msb's own clocks are given more than ours: ours tell why a box ended.
const slack = 5 * time.Second

// createArgs are the words of `msb create` for a spec that is acceptable. They hold no value of a secret.
func createArgs(s *sandbox.Spec) []string {
	a := []string{"create", "--replace", "-q", "-n", prefix + s.Name, "--label", "zeno=" + s.Name}
	if s.Volume != "" {
		a = append(a, "-v", s.Volume+":"+s.Workdir+ownerOption(s.User))
	} else {
		a = append(a, "--mkdir", s.Workdir)
	}
	a = append(a, "-w", startDir(s))
	for _, p := range s.Read {
		a = append(a, "-v", p+":"+p+":ro")
	}
	if s.User != 0 {
		a = append(a, "-u", fmt.Sprintf("%d:%d", s.User, s.User))
	}
	a = append(a, envArgs(boxEnv(s))...)
	a = append(a, "--max-duration", seconds(s.TTL+slack), "-c", strconv.Itoa(int(s.CPUs)),
		"-m", mebibytes(s.Memory), "--root-disk", mebibytes(s.Disk))
	a = append(a, netArgs(s)...)
	return append(a, "--pull", "never", s.Image)
}

// execArgs are the words that run argv in a live box. in is given to the program by a shell in the box: an open standard
// input of msb's would keep it from ending.
func execArgs(s *sandbox.Spec, in []string, env map[string]string) []string {
	a := []string{"exec", "--stream", "-q", "-w", startDir(s), "--timeout", seconds(s.Timeout + slack)}
	if s.User != 0 {
		a = append(a, "-u", fmt.Sprintf("%d:%d", s.User, s.User), "--rlimit", fmt.Sprintf("nproc=%d", s.Pids))
	}
	a = append(a, envArgs(env)...)
	for i := range in { // without a value: msb takes it from its own environment
		a = append(a, "-e", inName(i))
	}
	a = append(a, prefix+s.Name, "--")
	if len(in) > 0 {
		a = append(a, "/bin/sh", "-c", feedScript(len(in)), "sh")
	}
	return append(a, s.Argv...)
}

func startDir(s *sandbox.Spec) string {
	if s.Dir != "" {
		return s.Dir
	}
	return s.Workdir
}

// ownerOption shows the volume as the program's own.
func ownerOption(user int) string {
	if user == 0 {
		return ""
	}
	return fmt.Sprintf(":uid=%d,gid=%d", user, user)
}

// boxEnv is the spec's environment and what msb's agent leaves out: git looks for certificates in a variable of its own.
func boxEnv(s *sandbox.Spec) map[string]string {
	if s.Egress.Default == sandbox.EgressNone {
		return s.Env
	}
	env := map[string]string{"GIT_SSL_CAINFO": sandbox.CAPath}
	for k, v := range s.Env {
		env[k] = v
	}
	return env
}

func envArgs(env map[string]string) (a []string) {
	names := make([]string, 0, len(env))
	for k := range env {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		a = append(a, "-e", k+"="+env[k])
	}
	return a
}

// netArgs: what is denied comes first, since the first rule that fits decides. Rules are bound to TCP and its ports: one
// without them lets UDP out.
func netArgs(s *sandbox.Spec) (a []string) {
	switch s.Egress.Default {
	case sandbox.EgressNone:
		return []string{"--no-net"}
	case sandbox.EgressPublic:
		a = append(a, "--net", "public")
	default:
		a = append(a, "--net-default-egress", "deny", "--net-default-ingress", "deny")
	}
	for _, h := range s.Egress.Deny {
		if r, err := egress.ParseRule(h); err == nil {
			a = append(a, "--net-rule", denyRule(r))
		}
	}
	for _, allow := range s.Egress.Allow {
		if r, err := egress.ParseRule(allow.Host); err == nil {
			if allow.Port != 0 {
				r.Port = allow.Port
			}
			a = append(a, ruleArgs(r)...)
		}
	}
	if s.Egress.Default == sandbox.EgressDeny {
		a = append(a, "--net-rule", "allow@dns") // names that no rule allows are denied by msb's own resolver
	}
	a = append(a, "--net-strict", "--tls-intercept")
	for _, sec := range s.Secrets {
		a = append(a, "--secret", sec.Env+"@"+strings.Join(sec.Hosts, ","))
	}
	return a
}

func denyRule(r egress.Rule) string {
	if r.Port == 0 {
		return "deny@" + r.Host
	}
	return fmt.Sprintf("deny@%s:tcp:%d", r.Host, r.Port)
}

func ruleArgs(r egress.Rule) (a []string) {
	ports := []int{443, 80}
	if r.Port != 0 {
		ports = []int{r.Port}
	}
	for _, p := range ports {
		a = append(a, "--net-rule", fmt.Sprintf("allow@%s:tcp:%d", r.Host, p))
	}
	return a
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10) + "s"
}

func mebibytes(n int64) string { return strconv.FormatInt(n>>20, 10) + "M" }

// inPart is the size of a variable that carries standard input: the kernel takes 128 KiB for one.
const inPart = 96 << 10

func inName(i int) string { return "ZENO_IN_" + strconv.Itoa(i) }

// parts divides a text between characters.
func parts(text string) (out []string) {
	for len(text) > inPart {
		n := inPart
		for !utf8.RuneStart(text[n]) {
			n--
		}
		out, text = append(out, text[:n]), text[n:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// feedScript gives the variables to "$@" as its standard input and takes them out of its environment. A pipe of a shell
// exits as its last command does.
func feedScript(n int) string {
	var texts, names strings.Builder
	for i := range n {
		fmt.Fprintf(&texts, "${%s}", inName(i))
		names.WriteString(" " + inName(i))
	}
	return fmt.Sprintf(`printf %%s "%s" | { unset%s; exec "$@"; }`, texts.String(), names.String())
}
