package platform

// The profiles say what a cut of power or the loss of a machine may cost
// (design section 3, durability).
const (
	// ProfileDev is one NATS node that writes as the system likes: a killed
	// process loses nothing, a power cut may lose the last writes.
	ProfileDev = "dev"
	// ProfileSingle is one NATS node with sync_interval: always: nothing that
	// was acknowledged is lost, and at most once holds across a power cut.
	ProfileSingle = "single"
	// ProfileCluster is three NATS nodes in three zones: one may vanish.
	ProfileCluster = "cluster"
)

// Profiles lists the profiles; the first is the default.
func Profiles() []string { return []string{ProfileDev, ProfileSingle, ProfileCluster} }

// replicas is how many copies of every stream a profile keeps.
func replicas(profile string) int {
	if profile == ProfileCluster {
		return 3
	}
	return 1
}

// production reports whether a profile is more than a development machine's.
func production(profile string) bool { return profile != "" && profile != ProfileDev }
