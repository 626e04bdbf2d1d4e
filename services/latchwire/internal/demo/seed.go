package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// seed creates what is missing and points the extensions' webhooks at where
// they listen now. A second start finds the lock of the first again.
func (d *Demo) seed(ctx context.Context, extensions []*extension, urls map[string]string) error {
	admin := client{base: d.env["BASE"], token: d.AdminToken(), http: &http.Client{Timeout: 10 * time.Second}}
	probe := &extension{slug: "probe", name: "Probe", manifest: probeManifest}
	urls[probe.slug] = probeURL
	extensions = append(extensions, probe)
	for _, x := range extensions {
		if err := x.register(ctx, admin, urls[x.slug]); err != nil {
			return err
		}
	}
	installed, err := d.lock(ctx, admin)
	if err != nil {
		return err
	}
	for _, x := range extensions {
		if x.session = installed[x.slug]; x.session != "" {
			continue
		}
		var s struct {
			SessionID string `json:"sessionId"`
		}
		if err := admin.call(ctx, http.MethodPost, "/api/admin/locks/"+d.env["LOCK"]+"/sessions", map[string]any{"slug": x.slug}, &s); err != nil {
			return err
		}
		x.session = s.SessionID
	}
	for slug, config := range builtIns() {
		if installed[slug] != "" {
			continue
		}
		body := map[string]any{"slug": slug, "config": json.RawMessage(config)}
		if err := admin.call(ctx, http.MethodPost, "/api/admin/locks/"+d.env["LOCK"]+"/sessions", body, nil); err != nil {
			return err
		}
	}
	for _, x := range extensions {
		switch x.slug {
		case "butler":
			d.env["TOKEN"], d.env["SESSION"] = x.api.token, x.session
		case probe.slug:
			d.env["PUBLISH_TOKEN"], d.env["PUBLISH"] = x.api.token, d.env["BASE"]+"/api/extensions/probe/manifest"
		}
	}
	return nil
}

// builtIns are the platform's own extensions, as they are configured on the
// demo's lock.
func builtIns() map[string]string {
	return map[string]string{
		"dice": `{}`, "link": `{}`, "pillory": `{}`, "verification-picture": `{}`, "wheel-of-fortune": `{}`,
		"temporary-opening": `{"openingTime":900}`,
		"penalty":           `{"habits":[{"name":"late","title":"Coming late","addTime":600,"timeLimit":3600}]}`,
		"tasks":             `{"tasks":[{"task":"Write 100 lines","points":5},{"task":"Sweep the floor","points":2,"duration":900}]}`,
	}
}

// register creates the extension or finds it, gives it a token and publishes
// its manifest.
func (x *extension) register(ctx context.Context, admin client, url string) error {
	err := admin.call(ctx, http.MethodPost, "/api/admin/extensions",
		map[string]any{"slug": x.slug, "displayName": x.name, "webhookUrl": url}, nil)
	if refused, ok := errors.AsType[*apiError](err); ok && refused.status == http.StatusConflict {
		err = admin.call(ctx, http.MethodPatch, "/api/admin/extensions/"+x.slug, map[string]any{"webhookUrl": url}, nil)
	}
	if err != nil {
		return err
	}
	var t struct {
		Token string `json:"token"`
	}
	if err := admin.call(ctx, http.MethodPost, "/api/admin/extensions/"+x.slug+"/tokens", map[string]any{"label": "demo"}, &t); err != nil {
		return err
	}
	x.api = client{base: admin.base, token: t.Token, http: admin.http}
	if x.slug == "probe" { // a person may have published another one since
		err := x.api.call(ctx, http.MethodGet, "/api/extensions/probe/manifest", nil, nil)
		if refused, ok := errors.AsType[*apiError](err); err == nil || !ok || refused.status != http.StatusNotFound {
			return err
		}
	}
	return x.api.call(ctx, http.MethodPut, "/api/extensions/"+x.slug+"/manifest", json.RawMessage(x.manifest), nil)
}

// lock finds the last start's lock or makes one, and returns the sessions of
// what is installed on it.
func (d *Demo) lock(ctx context.Context, admin client) (map[string]string, error) {
	var lock struct {
		ID         string `json:"id"`
		Status     string `json:"status"`
		Extensions []struct {
			Slug      string `json:"slug"`
			SessionID string `json:"sessionId"`
		} `json:"extensions"`
	}
	if d.env["LOCK"] != "" {
		err := admin.call(ctx, http.MethodGet, "/api/admin/locks/"+d.env["LOCK"], nil, &lock)
		if refused, ok := errors.AsType[*apiError](err); err != nil && (!ok || refused.status != http.StatusNotFound) {
			return nil, err
		}
	}
	if lock.Status != "active" {
		err := admin.call(ctx, http.MethodPost, "/api/admin/locks", map[string]any{
			"wearer": map[string]any{"id": "demo-wearer", "name": "Robin"}, "keyholder": map[string]any{"id": "demo-keyholder", "name": "Sam"},
			"endDate": time.Now().UTC().Add(7 * 24 * time.Hour).Format("2006-01-02T15:04:05.000Z"),
		}, &lock)
		if err != nil {
			return nil, err
		}
	}
	d.env["LOCK"] = lock.ID
	installed := make(map[string]string)
	for _, x := range lock.Extensions {
		installed[x.Slug] = x.SessionID
	}
	return installed, nil
}
