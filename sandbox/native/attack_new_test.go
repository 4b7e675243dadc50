//go:build linux

package native_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// moreAttacks are after what was found in other sandboxes, in container runtimes and in the kernel: filters that look at
// another half of an argument than the kernel, numbers of an ABI that is half there, threads of the first process,
// descriptors of what is shown read-only, leases, parts of the kernel that a socket loads.
var moreAttacks = []attack{
	{"tiocsti_high", never, nil, nil}, {"tiocsti_x32_number", never, nil, nil}, {"tiocsetd", always, nil, nil}, {"tioclinux", never, nil, nil},
	{"clone_high", always, nil, nil}, {"clone_time", root, nil, nil}, {"socket_high", never, nil, nil}, {"ptrace_x32_number", never, nil, nil},
	{"kexec_x32_number", never, nil, nil}, {"uring_enter", never, nil, nil}, {"old_abi", always, nil, nil}, {"no_zero_page", always, nil, nil}, {"map_zero", root, nil, nil},
	// SCTP, MPTCP, UDP-Lite, L2TP, DCCP.
	{"s_protocol", always, []string{"132", "1"}, []string{"132", "1"}}, {"s_protocol", always, []string{"262", "1"}, []string{"262", "1"}},
	{"s_protocol", always, []string{"136", "2"}, []string{"136", "2"}}, {"s_protocol", never, nil, []string{"115", "2"}}, {"s_protocol", never, nil, []string{"33", "6"}},
	{"s_protocol6", always, []string{"262", "1"}, []string{"262", "1"}}, {"s_protocol6", always, []string{"132", "1"}, []string{"132", "1"}},
	{"s_families", never, nil, nil}, {"s_ulp", always, nil, nil}, {"s_transparent", root, nil, nil}, {"s_mark", root, nil, nil}, {"s_netlink", always, nil, nil},
	{"address_add", never, nil, nil},
	// What is shown, by a descriptor.
	{"fd_chmod", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"fd_chown", always, []string{"SHOWN"}, []string{"SHOWN"}},
	{"fd_times", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"fd_flags", always, []string{"SHOWN"}, []string{"SHOWN"}},
	{"fd_again", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"fd_path_chmod", never, nil, []string{"SHOWN"}}, {"fd_link", never, nil, []string{"SHOWN"}},
	{"lease", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"lease_high", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"verity", never, nil, []string{"SHOWN"}},
	{"freeze", never, nil, nil},
	// Its own files in /proc.
	{"proc_self", always, []string{"attr/current"}, []string{"attr/current"}}, {"proc_self", always, []string{"attr/exec"}, []string{"attr/exec"}},
	{"proc_self", always, []string{"oom_score_adj"}, []string{"oom_score_adj"}}, {"proc_self", always, []string{"mem"}, []string{"mem"}},
	{"proc_self", always, []string{"clear_refs"}, []string{"clear_refs"}}, {"proc_self", always, []string{"coredump_filter"}, []string{"coredump_filter"}},
	{"proc_self", never, nil, []string{"timens_offsets"}}, {"proc_self", root, []string{"setgroups"}, []string{"setgroups"}},
	{"proc_self", never, nil, []string{"loginuid"}}, {"proc_self", never, nil, []string{"autogroup"}}, {"proc_thread", always, []string{"comm"}, []string{"comm"}},
	// The box's first process, by its threads. On the host that is not ours to try.
	{"threads_seize", never, nil, nil}, {"threads_memory", never, nil, nil}, {"threads_files", never, nil, nil}, {"threads_kill", never, nil, nil},
	{"init_exe_path", never, nil, nil}, {"pidfd_ns", never, nil, []string{"1"}}, {"ns_owner", never, nil, nil},
	// Terminals and mounts of the host.
	{"dev_tty", never, nil, nil}, {"dev_console", never, nil, nil}, {"pts_host", never, nil, nil}, {"sys_there", always, nil, nil}, {"handle", always, nil, nil},
	{"list_mounts", always, nil, nil}, {"move_it", never, nil, nil},
}

// A program that is being started is for a moment what starts it, with a way to zeno open. No other gets at it then.
func TestNothingIsReachedWhileAProgramStarts(t *testing.T) {
	g := newTarget(t)
	b := backend(t)
	started, ended := make(chan struct{}), make(chan sandbox.Result, 1)
	go func() {
		res, err := b.Run(context.Background(), sandbox.Spec{Name: "x", Read: []string{g.dir}, Stdout: signal(started), Timeout: 5 * time.Minute,
			Argv: []string{"sh", "-c", "echo go; exec " + g.program + " starting"}})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	<-started
	for i := range 100 {
		if res, err := b.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"true"}}); err != nil || res.Exit != 0 {
			t.Fatalf("program %d: got %+v %v, the body %+v", i, res, err, <-ended)
		}
	}
	if _, err := b.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"touch", "/tmp/enough"}}); err != nil {
		t.Fatal(err)
	}
	res := <-ended
	if strings.Contains(res.Out, "worked") || !strings.Contains(res.Out, "refused") || strings.Contains(res.Out, "\n0 seen") {
		t.Errorf("got %+v, want programs seen and refused", res)
	}
}
