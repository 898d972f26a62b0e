/** Routes of `/<actor>/www/trust`: the pages of relationships, and the forms that create, change and end them. */
import { optional, stringField } from '../../json/fields.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { partQuery } from '../shared/paging.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changeAccess, changeRights, changeTrust } from './peer-forms.ts'
import { showPeer, showTrustNew, showTrusts } from './relationship-pages.ts'
import { connectionsQuery } from './listing.ts'
import { requestTrust, reviewInvitation } from './request-form.ts'
import { showViewAsPeer } from './view-as-peer-page.ts'
import { peerQuery, type RelationshipPageDeps } from './deps.ts'

export function relationshipPageRoutes(deps: RelationshipPageDeps): readonly Route[] {
  return [...requestRoutes(deps), ...peerRoutes(deps), ...rightsRoutes(deps)]
}

const invitationQuery = { invitation: optional(stringField('The link of an invitation')) }

function requestRoutes(deps: RelationshipPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'trustPage',
      method: 'GET',
      path: '/:actor/www/trust',
      access: 'www',
      summary: 'The relationships of the actor',
      query: connectionsQuery,
      responses: pageResponses,
      handler: (exchange) => showTrusts(deps, exchange),
    }),
    defineRoute({
      id: 'trustNewPage',
      method: 'GET',
      path: '/:actor/www/trust/new',
      access: 'www',
      summary: 'A form that asks another actor for a relationship. With an invitation: what accepting it means',
      query: invitationQuery,
      responses: pageResponses,
      handler: (exchange) => {
        const { invitation } = exchange.query
        return invitation === undefined ? showTrustNew(deps, exchange) : reviewInvitation(deps, exchange, invitation)
      },
    }),
    defineRoute({
      id: 'requestTrustForm',
      method: 'POST',
      path: '/:actor/www/trust/new',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Shows what another actor will be able to do (`step=review`), or asks the actor for a relationship (`step=send`)',
      request: pageForm('peer_url', 'trust_type', 'relationship', 'description', 'step', 'reviewed'),
      responses: {
        ...formResponses,
        200: { text: 'The page, with the review', type: 'text/html' },
        ...errorResponses(408),
      },
      handler: (exchange) => requestTrust(deps, exchange),
    }),
  ]
}

function peerRoutes(deps: RelationshipPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'peerPage',
      method: 'GET',
      path: '/:actor/www/trust/:peerid',
      access: 'www',
      summary: 'A peer, what it may do, and why',
      query: peerQuery,
      responses: pageResponses,
      handler: (exchange) => showPeer(deps, exchange),
    }),
    defineRoute({
      id: 'peerForm',
      method: 'POST',
      path: '/:actor/www/trust/:peerid',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Changes the relationship: its approval, the end of the approval or of a grant, its access level, the nickname of the peer, or its end. Also withdraws a grant, and follows what the peer shows',
      query: peerQuery,
      request: pageForm(
        'action',
        'version',
        'confirmation',
        'step',
        'trust_type',
        'reviewed',
        'nickname',
        'until',
        'category',
        'pattern',
      ),
      responses: {
        ...formResponses,
        200: { text: 'The page, with what another access level means', type: 'text/html' },
        ...errorResponses(408),
      },
      handler: (exchange) => changeTrust(deps, exchange),
    }),
  ]
}

function rightsRoutes(deps: RelationshipPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'rightsForm',
      method: 'POST',
      path: '/:actor/www/trust/:peerid/permissions',
      access: 'www',
      freshSignIn: 'some',
      summary: 'Shows what other rights would mean for the peer, saves them, or goes back to those of the trust type',
      query: peerQuery,
      request: pageForm(
        'step',
        'properties.patterns',
        'properties.operations.read',
        'methods.allowed',
        'methods.denied',
      ),
      responses: { ...formResponses, 200: { text: 'The page, with what would change', type: 'text/html' } },
      handler: (exchange) => changeRights(deps, exchange),
    }),
    defineRoute({
      id: 'accessForm',
      method: 'POST',
      path: '/:actor/www/trust/:peerid/access',
      access: 'www',
      freshSignIn: 'some',
      summary: 'Allows or blocks properties and operations by name for a peer; fields `set:<category>:<name>`',
      query: peerQuery,
      request: pageForm('version'),
      responses: formResponses,
      handler: (exchange) => changeAccess(deps, exchange),
    }),
    defineRoute({
      id: 'viewAsPeerPage',
      method: 'GET',
      path: '/:actor/www/trust/:peerid/view',
      access: 'www',
      summary: 'What the peer sees of the actor now',
      query: partQuery,
      responses: pageResponses,
      handler: (exchange) => showViewAsPeer(deps, exchange),
    }),
  ]
}
