package intake_test

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

func TestMain(m *testing.M) { platformtest.Main(m) }
