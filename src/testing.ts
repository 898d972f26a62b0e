/**
 * `troupe/testing`: runs an application in memory for its tests, with any test runner.
 *
 * @example
 * ```ts
 * import { troupe } from 'troupe'
 * import { testing } from 'troupe/testing'
 * import { z } from 'zod'
 *
 * const app = troupe({ type: 'urn:actingweb:example.com:notes', name: 'notes' })
 * app.action('add_note', { input: z.object({ text: z.string() }) }, async ({ actor, input }) => ({
 *   index: await actor.list('notes').append(input),
 * }))
 *
 * await using t = await testing(app)
 * const ada = await t.signIn('ada@example.com')
 * await ada.action('add_note', { text: 'Buy a violin' })
 * await t.clock.advance('1h')
 * ```
 */
// Features add members to the handle of an actor.
import './handles.ts'
export { type TestClock, testing, type Testing, type TestingOptions } from './testing/testing.ts'
export { ClientRefused, RequestRefused } from './testing/refused.ts'
export type { AiClient, ToolCallResult } from './testing/ai-client.ts'
export type { TestRequest } from './testing/browser.ts'
export type { LogEntry, TestLog } from './testing/log.ts'
export type { TestPerson } from './testing/person.ts'
