package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Resources are "oneiros://iris/journal" and "oneiros://iris/playbook" of every agent that the caller reaches, for
// operators.
const (
	scheme   = "oneiros://"
	markdown = "text/markdown"
)

// page is one document of an agent.
type page struct {
	name, title, tells string
	read               func(ctx context.Context, c psyche.Caller, agent string) (string, error)
}

func (d *toolset) pages() []page {
	return []page{
		{
			"journal", "Dream journal", "What its dreams left in the agent's journal, newest first. Dreamt, unverified.",
			d.diary,
		},
		{"playbook", "Playbook", "What the agent learned to do, as its dreams rewrote it.", d.service.Playbook},
	}
}

func (d *toolset) diary(ctx context.Context, c psyche.Caller, agent string) (string, error) {
	entries, err := d.service.Journal(ctx, c, agent, mostEntries)
	if err != nil {
		return "", err
	}
	return "# Dream journal of " + agent + "\n\n" + diary(written(entries)), nil
}

func (d *toolset) resources() {
	if !d.role.Includes(access.Operator) {
		return
	}
	for _, p := range d.pages() {
		d.server.AddResourceTemplate(&mcp.ResourceTemplate{
			Name:        p.name,
			Title:       p.title,
			Description: p.tells,
			MIMEType:    markdown,
			URITemplate: scheme + "{agent}/" + p.name,
		}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			agent, name, ok := addressed(req.Params.URI)
			c := callerOf(ctx)
			if !ok || name != p.name || !c.Key.Role.Includes(access.Operator) {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			text, err := p.read(ctx, c, agent)
			if err != nil {
				return nil, resourceFault(req.Params.URI, err)
			}
			return &mcp.ReadResourceResult{
				Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: markdown, Text: text}},
			}, nil
		})
	}
}

// addressed parses "oneiros://iris/journal".
func addressed(uri string) (agent, name string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", "", false
	}
	agent, name, ok = strings.Cut(rest, "/")
	return agent, name, ok && agent != "" && name != "" && !strings.ContainsAny(name, "/?#")
}

// resourceFault is the error of a resource: what does not exist and what may not be seen look alike.
func resourceFault(uri string, err error) error {
	var fault *psyche.Fault
	if errors.As(err, &fault) && (fault.Status == http.StatusNotFound || fault.Status == http.StatusForbidden) {
		return mcp.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: clientError(err).Error()}
}

// agentsAPage is how many agents' documents one page lists.
const agentsAPage = 250

const afterAgent = "agents-after:" // prefix of our cursors; the rest is the handle of the last agent listed

// listResources adds the documents of the agents to the list of resources. It depends on the caller, and agents come
// and go.
func (d *toolset) listResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		request, ok := req.(*mcp.ListResourcesRequest)
		if !ok || method != "resources/list" || !d.role.Includes(access.Operator) {
			return next(ctx, method, req)
		}
		cursor := ""
		if request.Params != nil {
			cursor = request.Params.Cursor
		}
		after, ours := strings.CutPrefix(cursor, afterAgent)
		page := &mcp.ListResourcesResult{Cacheable: mcp.Cacheable{CacheScope: "private"}, Resources: []*mcp.Resource{}}
		if !ours {
			result, err := next(ctx, method, req)
			first, fits := result.(*mcp.ListResourcesResult)
			if err != nil || !fits || cursor != "" || first.NextCursor != "" {
				return result, err
			}
			page = first
		}
		return page, d.fill(ctx, page, after)
	}
}

func (d *toolset) fill(ctx context.Context, page *mcp.ListResourcesResult, after string) error {
	c := callerOf(ctx)
	if !c.Key.Role.Includes(access.Operator) {
		return nil
	}
	agents, err := d.service.Agents(ctx, c)
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: clientError(err).Error()}
	}
	agents = agents[sort.Search(len(agents), func(i int) bool { return agents[i].Handle > after }):]
	if len(agents) > agentsAPage {
		agents = agents[:agentsAPage]
		page.NextCursor = afterAgent + agents[agentsAPage-1].Handle
	}
	for _, a := range agents {
		for _, p := range d.pages() {
			page.Resources = append(page.Resources, &mcp.Resource{
				Name: a.Handle + "/" + p.name, Title: p.title + " of " + a.Handle, Description: p.tells,
				MIMEType: markdown,
				URI:      scheme + a.Handle + "/" + p.name,
			})
		}
	}
	return nil
}
