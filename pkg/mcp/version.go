package mcp

import "slices"

// Modern is the revision whose every request says which one it is of.
const Modern = "2026-07-28"

// latestLegacy is the newest revision that begins with initialize.
const latestLegacy = "2025-11-25"

// assumed is the revision of a legacy request that names none (MCP-62).
const assumed = "2025-03-26"

// Versions returns every revision that is served, the newest first.
func Versions() []string { return []string{Modern, latestLegacy, "2025-06-18", assumed, "2024-11-05"} }

func isLegacy(version string) bool { return version != Modern && slices.Contains(Versions(), version) }
