import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type App, troupe } from '../../src/index.ts'

/** What TypeScript would refuse, and JavaScript lets through. */
const careless = (app: App) => app as unknown as Record<string, (...declared: unknown[]) => unknown>
const handler = (): null => null

const refusals: [
  what: string,
  declare: (app: Record<string, (...declared: unknown[]) => unknown>) => unknown,
  sentence: string,
][] = [
  [
    'an event that there is not',
    (app) => app['on']?.('actor_born', handler),
    'There is no event "actor_born". The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, email_verification_required, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted.',
  ],
  [
    'an event of every object',
    (app) => app['on']?.('constructor', handler),
    'There is no event "constructor". The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, email_verification_required, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted.',
  ],
  [
    'an event without a handler',
    (app) => app['on']?.('actor_created'),
    'The event "actor_created" needs a handler, which is a function.',
  ],
  [
    'an action without a handler',
    (app) => app['action']?.('sign', {}),
    'The action "sign" needs a handler, which is a function.',
  ],
  [
    'a method with two descriptions',
    (app) => app['method']?.('count', {}, {}),
    'The method "count" needs a handler, which is a function.',
  ],
  [
    'an input that is no schema',
    (app) => app['action']?.('sign', { input: 5 }, handler),
    'The input of the action "sign" is no schema: it takes one of zod, any other Standard Schema or a JSON Schema.',
  ],
  [
    'an output that is no schema',
    (app) => app['method']?.('count', { output: 'number' }, handler),
    'The output of the method "count" is no schema: it takes one of zod, any other Standard Schema or a JSON Schema.',
  ],
  [
    'a hook for an operation that there is not',
    (app) => app['property']?.('email', { read: handler }),
    'The property "email" has no operation "read" to hook into. The operations are get, put, post, delete.',
  ],
  [
    'a hook that is no function',
    (app) => app['property']?.('email', { get: 'hidden' }),
    'The hook "get" of the property "email" is no function.',
  ],
]

describe('a declaration', () => {
  for (const [what, declare, sentence] of refusals) {
    it(`is refused in one sentence at once: ${what}`, () => {
      const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
      assert.throws(() => declare(careless(app)), { name: 'ConfigError', message: sentence })
    })
  }
})
