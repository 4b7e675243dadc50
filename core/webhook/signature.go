package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The schemes of signing. All are HMAC-SHA256.
const (
	// GitHub: X-Hub-Signature-256: sha256=HEX over the body; X-GitHub-Delivery, which is not signed, names the delivery.
	// There is no time: what is caught on its way can be sent again under another name, unless Hook.ByBody is set.
	GitHub = "github"
	// Stripe: Stripe-Signature: t=SECONDS,v1=HEX over "t.body". The body's own id names the delivery.
	Stripe = "stripe"
	// Standard: webhook-id, webhook-timestamp and webhook-signature: v1,BASE64 over "id.timestamp.body".
	Standard = "standard"
)

// maxSignatures bounds how many signatures of one request are looked at: senders that change their secret send two.
const maxSignatures = 8

// errSignature is all that a sender with a wrong secret learns.
var errSignature = errors.New("signature: it does not fit the body and the secret")

// check verifies a request. id names the delivery, "" where the scheme has no name for it.
func (h *Hook) check(head http.Header, body []byte, secrets []string, now time.Time) (id string, err error) {
	switch h.Scheme {
	case Stripe:
		return "", h.checkStripe(head, body, secrets, now)
	case Standard:
		return h.checkStandard(head, body, secrets, now)
	}
	text, ok := strings.CutPrefix(head.Get("X-Hub-Signature-256"), "sha256=")
	if !ok {
		return "", errors.New("signature: got no X-Hub-Signature-256: sha256=…, want one")
	}
	sum, err := hex.DecodeString(text)
	if err != nil || !fits(secrets, [][]byte{sum}, raw, body) {
		return "", errSignature
	}
	return head.Get("X-GitHub-Delivery"), nil
}

func (h *Hook) checkStripe(head http.Header, body []byte, secrets []string, now time.Time) error {
	at, sums := "", [][]byte(nil)
	for _, part := range strings.SplitN(head.Get("Stripe-Signature"), ",", maxSignatures) {
		k, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch k {
		case "t":
			at = v
		case "v1":
			if sum, err := hex.DecodeString(v); err == nil {
				sums = append(sums, sum)
			}
		}
	}
	if len(sums) == 0 || at == "" {
		return errors.New("signature: got no Stripe-Signature: t=…,v1=…, want one")
	}
	if !fits(secrets, sums, raw, []byte(at+"."), body) {
		return errSignature
	}
	return h.fresh(at, now)
}

func (h *Hook) checkStandard(head http.Header, body []byte, secrets []string, now time.Time) (string, error) {
	id, at := head.Get("Webhook-Id"), head.Get("Webhook-Timestamp")
	var sums [][]byte
	for _, part := range strings.SplitN(head.Get("Webhook-Signature"), " ", maxSignatures) {
		if text, ok := strings.CutPrefix(part, "v1,"); ok {
			if sum, err := base64.StdEncoding.DecodeString(text); err == nil {
				sums = append(sums, sum)
			}
		}
	}
	if id == "" || at == "" || len(sums) == 0 {
		return "", errors.New("signature: got no webhook-id, webhook-timestamp and webhook-signature: v1,…, want all three")
	}
	if !fits(secrets, sums, whsec, []byte(id+"."+at+"."), body) {
		return "", errSignature
	}
	return id, h.fresh(at, now)
}

// fresh wants a time that is not far from now: an old request that somebody kept is not taken again.
func (h *Hook) fresh(text string, now time.Time) error {
	sec, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("timestamp: got %.40q, want seconds since 1970", text)
	}
	if off := now.Sub(time.Unix(sec, 0)); off > h.Tolerance || off < -h.Tolerance {
		return fmt.Errorf("timestamp: got one that is off by %s, want at most %s; was the request sent again, or is a clock wrong?", off.Round(time.Second), h.Tolerance)
	}
	return nil
}

// fits tells whether one of sums is the MAC of the parts under one of the secrets. It takes the same time wherever they
// differ, and whichever of them fits.
func fits(secrets []string, sums [][]byte, key func(string) []byte, parts ...[]byte) bool {
	ok := false
	for _, s := range secrets {
		m := hmac.New(sha256.New, key(s))
		for _, p := range parts {
			m.Write(p)
		}
		want := m.Sum(nil)
		for _, sum := range sums {
			ok = hmac.Equal(sum, want) || ok
		}
	}
	return ok
}

func raw(secret string) []byte { return []byte(secret) }

// whsec is the key in a secret as Standard Webhooks writes it: whsec_ and base64. Others are taken as they are.
func whsec(secret string) []byte {
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return key
		}
	}
	return []byte(secret)
}
