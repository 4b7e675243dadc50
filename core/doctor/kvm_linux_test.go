package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where the device is missing, closed, or no virtual machine's, the check says which.
func TestKVMThatIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for device, want := range map[string]struct {
		status Status
		detail string
	}{
		filepath.Join(dir, "none"): {Missing, "microVMs do not start"},
		file:                       {Failed, "making a virtual machine: inappropriate ioctl for device"},
	} {
		var c Check
		kvmSystem{device, dir}.check(&c)
		if c.Status != want.status || !strings.Contains(c.Detail, want.detail) || c.Fix == "" {
			t.Errorf("%s: got %+v, want %v and %q", device, c, want.status, want.detail)
		}
	}
}

// Where there is a device, the check is ok only if a guest ran and has hardware under it, and else says what to do.
func TestKVMOfThisMachine(t *testing.T) {
	if _, err := os.Stat("/dev/kvm"); err != nil {
		t.Log("no /dev/kvm here")
		return
	}
	dir := t.TempDir()
	var with, without Check
	kvmSystem{"/dev/kvm", dir}.check(&with)
	t.Logf("here: %+v", with)
	if with.Status != OK && with.Fix == "" {
		t.Errorf("got %+v, want what to do about it", with)
	}
	if err := os.Mkdir(filepath.Join(dir, "kvm_pvm"), 0o700); err != nil {
		t.Fatal(err)
	}
	kvmSystem{"/dev/kvm", dir}.check(&without)
	if without.Status != Failed || with.Status == OK && !strings.Contains(without.Detail, "kvm_pvm") {
		t.Errorf("without hardware: got %+v, want it failed", without)
	}
	if err := os.Mkdir(filepath.Join(dir, "kvm_amd"), 0o700); err != nil {
		t.Fatal(err)
	}
	without = Check{}
	kvmSystem{"/dev/kvm", dir}.check(&without)
	if without.Status != with.Status {
		t.Errorf("with both modules: got %+v, want %v", without, with.Status)
	}
}
