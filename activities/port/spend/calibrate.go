package spend

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// calibrations caches calibrations by model.
type calibrations struct{ all sync.Map }

// calibrationStep is the ledger step that holds the vectors of a model's calibration, permanently and for all agents.
func calibrationStep(model string) string { return calibrationSteps + "1/" + model }

const calibrationSteps = "calibration/"

// Lasting reports whether the answer of a step is needed for as long as the deployment lasts, so that the step is not
// folded.
func Lasting(step string) bool { return strings.HasPrefix(step, calibrationSteps) }

// Calibration returns how to read the cosines of a model's vectors: from the catalogue, or from what Calibrate
// measured. It makes no paid call.
func (g *Guard) Calibration(ctx context.Context, model string) (inference.Calibration, bool) {
	spec, err := g.Catalog.Lookup(model)
	if err != nil {
		return inference.Cautious, false
	}
	if spec.Calibration.Measured() {
		return spec.Calibration, true
	}
	if calibration, found := g.calibrations.all.Load(model); found {
		return calibration.(inference.Calibration), true
	}
	vectors, err := storedAnswer[inference.Vectors](ctx, g, calibrationStep(model), errors.New("it was not measured"))
	if err != nil {
		return inference.Cautious, false
	}
	c, err := inference.Calibrate(vectors.V)
	if err != nil {
		return inference.Cautious, false
	}
	g.calibrations.all.Store(model, c)
	return c, true
}

// Calibrate returns the calibration of a model. If there is none yet, it measures one by embedding some 60 fixed
// sentences, which are bought once per deployment. c says who pays; its Step is not used.
func (g *Guard) Calibrate(ctx context.Context, c Charge, model string) (inference.Calibration, error) {
	if calibration, found := g.Calibration(ctx, model); found {
		return calibration, nil
	}
	c.Step = calibrationStep(model)
	vectors, err := g.Embed(ctx, c, model, inference.CalibrationTexts())
	if err != nil {
		return inference.Cautious, err
	}
	measured, err := inference.Calibrate(vectors.V)
	if err != nil {
		return inference.Cautious, err
	}
	g.calibrations.all.Store(model, measured)
	return measured, nil
}
