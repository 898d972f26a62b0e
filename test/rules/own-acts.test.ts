import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownSentence } from '../../src/pages/activity/own-acts.ts'
import { english } from '../../src/pages/languages/english.ts'
import { routes } from '../support/routes.ts'

const { ownActs } = english.messages(english.noun)

describe('the words for an act of the owner', () => {
  for (const [method, path, sentence] of [
    ['POST', 'sessions', 'signed in'],
    ['DELETE', 'sessions/s1', 'signed out'],
    ['DELETE', 'sessions', 'signed out all other devices'],
    ['POST', 'apps/claude', 'connected Name of claude'],
    ['DELETE', 'apps/claude', 'disconnected Name of claude'],
    ['POST', 'keys', 'created an API key'],
    ['PUT', 'keys/k1', 'changed an API key'],
    ['DELETE', 'keys/k1', 'revoked an API key'],
    ['POST', 'invitations', 'created an invitation'],
    ['DELETE', 'invitations/i1', 'revoked an invitation'],
    ['POST', 'trust', 'requested a connection'],
    ['PUT', 'trust/grace', 'changed the connection with Name of grace'],
    ['PUT', 'trust/friend/grace', 'changed the connection with Name of grace'],
    ['DELETE', 'trust/friend/grace', 'disconnected Name of grace'],
    ['PUT', 'trust/friend/grace/permissions', 'changed the access of Name of grace'],
    ['DELETE', 'trust/friend/grace/permissions', 'reset the access of Name of grace'],
    ['PUT', 'trust/trustee', 'changed the trustee'],
    ['DELETE', 'trust/trustee', 'changed the trustee'],
    ['PUT', 'password-access/a1', 'decided about a program with a password'],
    ['POST', 'passkeys', 'added a passkey'],
    ['DELETE', 'passkeys/p1', 'removed a passkey'],
    ['POST', 'recovery_codes', 'created recovery codes'],
    ['DELETE', 'recovery_codes', 'used a recovery code'],
    ['DELETE', 'services/mail', 'disconnected mail'],
    ['POST', 'webhooks', 'added a webhook'],
    ['DELETE', 'webhooks/w1', 'removed a webhook'],
    ['POST', 'webhooks/w1/secret', 'changed the secret of a webhook'],
    ['GET', 'export', 'exported your data'],
    ['POST', 'import', 'imported an archive'],
    ['POST', 'unknown/x', 'sent POST /unknown/x'],
  ] as const) {
    it(`are “${sentence}” for ${method} /${path}`, () => {
      assert.equal(
        ownSentence({ method }, path.split('/'), ownActs, (peerId) => `Name of ${peerId}`),
        sentence,
      )
    })
  }
})

describe('the routes of acts of the owner', () => {
  it('are those that change who may reach the actor', () => {
    const ids = routes.filter(({ isOwnAct }) => isOwnAct === true).map(({ id }) => id)
    assert.deepEqual(ids.toSorted(), [
      'addWebhook',
      'createInvitation',
      'createKey',
      'decidePasswordAccess',
      'deleteInvitation',
      'deleteKey',
      'deletePermissions',
      'deleteTrust',
      'deleteTrustNamed',
      'deleteTrustee',
      'disconnectApp',
      'disconnectService',
      'endOtherSessions',
      'endSession',
      'putKey',
      'putPermissions',
      'putTrust',
      'putTrustNamed',
      'putTrustee',
      'removeWebhook',
      'requestTrust',
      'rotateWebhookSecret',
    ])
  })
})
