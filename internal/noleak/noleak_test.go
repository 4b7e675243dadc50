package noleak

import (
	"strings"
	"testing"
	"time"
)

func TestWhatEndsLateIsNotLeft(t *testing.T) {
	go time.Sleep(2 * time.Second)
	if err := find(time.Minute); err != nil {
		t.Errorf("a goroutine that ends: got %v", err)
	}
}

func TestWhatWaitsIsLeft(t *testing.T) {
	end := make(chan struct{})
	go stay(end)
	err := find(time.Second)
	close(end)
	if err == nil || !strings.Contains(err.Error(), "noleak.stay") {
		t.Errorf("a goroutine that waits: got %v, want its name", err)
	}
	if err := find(time.Minute); err != nil {
		t.Errorf("after its end: got %v", err)
	}
}

func stay(end chan struct{}) { <-end }
