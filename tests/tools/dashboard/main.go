// Whether the dashboard on stdin is one by the types that Grafana publishes of its schemas: for a key that they do not have, a
// value of another type, or a required key that is missing, a line each with its place. (Words that are one of several, as
// "line", are strings to them.) The server itself, which would show it, cannot be had as a test: it is under the AGPL, and its
// pages are built by another toolchain.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// The SDK says "nothing is wrong" by an empty list, too.
func found(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}

// Options and queries of other kinds would not be looked into, so they are refused.
func checkKinds(panels []json.RawMessage) error {
	kinds, query := []variants.PanelcfgConfig{stat.VariantConfig(), timeseries.VariantConfig()}, prometheus.VariantConfig()
	known := map[string]bool{"row": true}
	for _, kind := range kinds {
		cog.NewRuntime().RegisterPanelcfgVariant(kind)
		known[kind.Identifier] = true
	}
	cog.NewRuntime().RegisterDataqueryVariant(query)
	for _, text := range panels {
		var panel struct {
			Type    string
			Title   string
			Targets []struct{ Datasource struct{ Type string } }
		}
		if err := json.Unmarshal(text, &panel); err != nil {
			return err
		}
		if !known[panel.Type] {
			return fmt.Errorf("panel %q: its type %q is not known here", panel.Title, panel.Type)
		}
		for _, target := range panel.Targets {
			if target.Datasource.Type != query.Identifier {
				return fmt.Errorf("panel %q: its query's type %q is not known here", panel.Title, target.Datasource.Type)
			}
		}
	}
	return nil
}

func run() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var parts struct{ Panels []json.RawMessage }
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if err := checkKinds(parts.Panels); err != nil {
		return err
	}
	var board dashboard.Dashboard
	if err := found(board.UnmarshalJSONStrict(text)); err != nil {
		return err
	}
	if err := found(board.Validate()); err != nil {
		return err
	}
	// The SDK's dashboard keeps no panel when it is strict.
	for i, one := range parts.Panels {
		var panel dashboard.Panel
		if err := json.Unmarshal(one, &panel); err != nil {
			return err
		}
		if err := found(panel.Validate()); err != nil {
			return fmt.Errorf("panels[%d]: %w", i, err)
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}
