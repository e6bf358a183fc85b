package main

import (
	"io"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// partLists writes a list of the parts of each program (SBOM, CycloneDX), which it reads from the program itself.
func (r release) partLists(p platform, programs []program, _ []file) ([]string, error) {
	var names []string
	for _, program := range programs {
		name := strings.Join([]string{program.name, r.version, p.file()}, "_") + ".cdx.json"
		bom, err := r.parts(program)
		if err != nil {
			return nil, err
		}
		err = r.create(name, func(w io.Writer) error {
			e := cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON)
			return e.SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
		})
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// parts reads the modules of a program and the standard library. The serial number follows from the program.
func (r release) parts(p program) (*cdx.BOM, error) {
	g, err := bin.NewGenerator(p.path, bin.WithIncludeStdlib(true), bin.WithVersionOverride(r.version),
		bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return nil, err
	}
	bom, err := g.Generate()
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(p.path)
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceOID, []byte(sum)).URN()
	bom.Metadata.Timestamp = r.time.Format(time.RFC3339)
	bom.Metadata.Component.Name = p.name
	bom.Metadata.Component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	return bom, nil
}
