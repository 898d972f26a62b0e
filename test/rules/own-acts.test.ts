import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { describe, it } from 'node:test'
import { builtInFeatures } from '../../src/features/list.ts'
import { ownActs as actSpellings } from '../../src/observe/own-acts.ts'
import { ownSentence } from '../../src/pages/activity/own-acts.ts'
import { english } from '../../src/pages/languages/english.ts'
import { routes } from '../support/routes.ts'

const src = join(import.meta.dirname, '..', '..', 'src')
const ofFeatures = builtInFeatures.flatMap(({ acts }) => acts)
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
    ['POST', 'members/invitations', 'invited a member'],
    ['PUT', 'members/ben', 'changed the role of a member'],
    ['DELETE', 'members/ben', 'removed a member'],
    ['GET', 'export', 'exported your data'],
    ['POST', 'import', 'imported an archive'],
    ['POST', 'unknown/x', 'sent POST /unknown/x'],
  ] as const) {
    it(`are “${sentence}” for ${method} /${path}`, () => {
      assert.equal(
        ownSentence({ method }, path.split('/'), {
          words: ownActs,
          tag: 'en',
          ofFeatures,
          nameOf: (peerId) => `Name of ${peerId}`,
        }),
        sentence,
      )
    })
  }
})

describe('an act of the owner', () => {
  it('has the method and the path of a route of the API, unless only pages have it', () => {
    const addressOf = (path: string): string => path.replace(/[:{]\w+\}?/g, '*')
    const ofRoutes = new Set(routes.map(({ method, path }) => `${method} ${addressOf(path.replace('/:actor', ''))}`))
    const all = [...Object.entries(actSpellings), ...ofFeatures.map(({ spelling }) => [spelling, spelling] as const)]
    const onPages = all.filter(([, spelling]) => !ofRoutes.has(addressOf(spelling)))
    assert.deepEqual(
      onPages.map(([act]) => act),
      ['app.connect', 'passkey.add', 'passkey.remove', 'recovery_code.use', 'recovery_codes.create', 'session.begin'],
    )
  })

  it('is noted in one place, or where a session begins or ends without the owner’s choice', async () => {
    const places = new Map<string, Set<string>>(Object.keys(actSpellings).map((act) => [act, new Set()]))
    for (const { spelling } of ofFeatures) places.set(spelling, new Set())
    for await (const path of glob('**/*.ts', { cwd: src })) {
      const text = await readFile(join(src, path), 'utf8')
      for (const [, act = ''] of text.matchAll(/\bnote(?:Act|IfOwner)\([^)]*?'([a-z_]+\.[a-z_]+|[A-Z]+ \/[^']*)'/g))
        places.set(act, (places.get(act) ?? new Set()).add(path.replaceAll(sep, '/')))
    }
    assert.deepEqual(
      [...places.keys()].filter(
        (act) => !(act in actSpellings) && !ofFeatures.some(({ spelling }) => spelling === act),
      ),
      [],
    )
    assert.deepEqual(
      [...places].filter(([, files]) => files.size !== 1).map(([act, files]) => [act, [...files].toSorted()]),
      [
        ['session.begin', ['sign-in/establish-session.ts', 'sign-in/owner-links.ts', 'token/sessions.ts']],
        ['session.end', ['token/session-acts.ts', 'token/sessions.ts']],
      ],
    )
  })
})
