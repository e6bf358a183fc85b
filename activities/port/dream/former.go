package dream

import "encoding/json"

// formerReason is the name under which earlier builds stored a judge's reason.
type formerReason struct {
	Former string `json:"said"`
}

// UnmarshalJSON reads the parts of a verdict, also those that earlier builds stored.
func (p *Parts) UnmarshalJSON(body []byte) error {
	type plain Parts
	both := struct {
		*plain
		formerReason
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(body, &both); err != nil {
		return err
	}
	if p.JudgeReason == "" {
		p.JudgeReason = both.Former
	}
	return nil
}

// UnmarshalJSON reads a scenario, also one that an earlier build stored.
func (s *Scenario) UnmarshalJSON(body []byte) error {
	type plain Scenario
	both := struct {
		*plain
		formerReason
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(body, &both); err != nil {
		return err
	}
	if s.JudgeReason == "" {
		s.JudgeReason = both.Former
	}
	return nil
}
