package rpc

import (
	"context"

	"amazonsfarm/master/loop"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// Campaign is a campaign of this process's loop that answers in messages of the contract, as the pages
// show them.
type Campaign struct {
	loop *loop.Loop
	*loop.Handle
}

// CampaignOf returns the campaign of a name; an empty name is the campaign with the lowest number.
// Errors: loop.ErrNoCampaign.
func CampaignOf(l *loop.Loop, name string) (*Campaign, error) {
	h, err := l.Of(name)
	if err != nil {
		return nil, err
	}
	return &Campaign{l, h}, nil
}

// Root returns the position that the campaign is about.
func (c *Campaign) Root() amazons.Position { return c.Handle.Root }

// Status asks the loop how far the campaign is. What it costs does not grow with the tree.
func (c *Campaign) Status(ctx context.Context) (*farmv1.StatusResponse, error) {
	return statusMessage(c.View(ctx))
}

// Workers asks the loop who is there and what they do, for whatever campaign, in the order they joined.
func (c *Campaign) Workers(ctx context.Context) ([]*farmv1.Worker, error) {
	list, err := c.loop.Workers(ctx)
	return workerMessages(list), err
}

// Contributors returns who has searched most, for all campaigns; see loop.Loop.Contributors.
func (c *Campaign) Contributors(ctx context.Context) ([]loop.Contributor, error) {
	return c.loop.Contributors(ctx)
}

// Explore tells what is known of the last position of a way; see loop.Handle.Explore.
func (c *Campaign) Explore(ctx context.Context, way []amazons.Position) (*farmv1.ExploreResponse, error) {
	e, err := c.Handle.Explore(ctx, way)
	if err != nil {
		return nil, err
	}
	return ExploreMessage(way[len(way)-1], e), nil
}
