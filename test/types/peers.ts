/* oxlint-disable no-unused-expressions, typescript/no-unsafe-call -- the mistakes that must not compile */
/**
 * The types of calls to peers. `npm run check` compiles this file. Each `@ts-expect-error` is a mistake that must not compile.
 */
import { z } from 'zod'
import {
  type ActorHandle,
  type App,
  type Json,
  PeerRefused,
  PeerTimeout,
  PeerUnreachable,
  troupe,
} from '../../src/index.ts'
import type { PeerHandle, PeerListHandle, PeerListPage } from '../../src/handles.ts'

/** True when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only when the type of the promise is `Wanted`. */
function resolvesTo<Wanted>() {
  return <Actual>(_value: Promise<Actual>, _same: Same<Actual, Wanted>): void => {}
}

const app = troupe({ type: 'urn:actingweb:example.com:types' })
const budget = app.property('budget', { schema: z.object({ limit: z.number() }), default: { limit: 500 } })
const shopping = app.list('shopping', { item: z.object({ text: z.string(), done: z.boolean().default(false) }) })
interface Shopping {
  text: string
  done: boolean
}

const household = app
  .action(
    'add_item',
    { input: z.object({ text: z.string(), times: z.number().default(1) }), output: z.object({ index: z.number() }) },
    async ({ actor, input }) => ({
      index: await actor.list(shopping).append({ text: input.text.repeat(input.times) }),
    }),
  )
  .action('tidy', { exclusive: true, input: z.object({ all: z.boolean().optional() }) }, async () => {})
  .action('ping', () => 'pong')
  .action('shaped', { input: { type: 'object' }, output: { type: 'object' } }, () => ({}))
  .method('note', { mcp: { resource: { uri: 'notes://{id}' } }, output: z.string() }, ({ input }) => input.id)
  .method('readings', { input: z.object({ from: z.string(), to: z.string() }), output: z.array(z.number()) }, () => [1])

/** An application whose action `*` takes every name. */
const open = troupe({ type: 'urn:actingweb:example.com:open' })
  .action('*', () => null)
  .action('known', { input: z.object({ a: z.string() }), output: z.string() }, () => 'known')

// The chain is the application itself, and has the declarations besides.
household.property('email', ({ value }) => value)
export const asApp: App = household

export async function copies(actor: ActorHandle): Promise<void> {
  const copy = actor.remote('peer')
  resolvesTo<{ limit: number } | undefined>()(copy.get(budget), true)
  resolvesTo<Shopping[] | undefined>()(copy.get(shopping), true)
  resolvesTo<Json | undefined>()(copy.get('budget'), true)
  // @ts-expect-error a copy has no such member
  ;(await copy.get(budget))?.spent
  resolvesTo<Shopping | undefined>()(copy.list(shopping).get(-1), true)
  resolvesTo<Shopping[]>()(copy.list(shopping).items(1, 2), true)
  resolvesTo<number>()(copy.list(shopping).count({ done: true }), true)
  const page = await copy.list(shopping).query({ where: { done: false }, sort: '-text', limit: 5, after: null })
  for (const { item } of page.items) item.text.trim()
  for await (const { index, item } of copy.list(shopping)) item.text.repeat(index)
  // @ts-expect-error an item has no such field
  await copy.list(shopping).query({ where: { due: 1 } })
  // @ts-expect-error a copy is only read
  await copy.list(shopping).append({ text: 'milk' })
  // @ts-expect-error a copy may not have the list
  ;(await copy.get(shopping)).length
}

export async function typed(actor: ActorHandle): Promise<void> {
  const ada = actor.peer<typeof household>('peer')
  resolvesTo<{ index: number }>()(ada.action('add_item', { text: 'milk' }), true)
  resolvesTo<number[]>()(ada.method('readings', { from: 'a', to: 'b' }), true)
  resolvesTo<string>()(ada.method('note', { id: '7' }), true)
  // @ts-expect-error the resource has the variable id
  void ada.method('note')
  resolvesTo<Json | undefined>()(ada.action('tidy'), true)
  resolvesTo<Json | undefined>()(ada.action('tidy', { all: true }), true)
  resolvesTo<Json | undefined>()(ada.action('ping'), true)
  resolvesTo<Json | undefined>()(ada.action('shaped', { any: 1 }), true)
  resolvesTo<{ limit: number } | undefined>()(ada.get(budget), true)
  resolvesTo<Shopping[]>()(ada.list(shopping).items({ start: 1, limit: 2 }), true)
  resolvesTo<Shopping | undefined>()(ada.list(shopping).get(0), true)
  resolvesTo<number>()(ada.list(shopping).append({ text: 'milk' }), true)
  resolvesTo<number>()(ada.list(shopping).length(), true)
  const page = await ada.list(shopping).query({ where: { done: false }, sort: '-text', limit: 5, after: null })
  for (const { item } of page.items) item.text.trim()
  resolvesTo<number>()(ada.list(shopping).count({ text: 'milk' }), true)
  await ada.list('any').query({ where: { anything: null }, sort: 'other' })
  await ada.set(budget, { limit: 1 })
  // @ts-expect-error the input has no such member
  await ada.action('add_item', { name: 'milk' })
  // @ts-expect-error the text is a string
  await ada.action('add_item', { text: 7 })
  // @ts-expect-error the input is required
  await ada.action('add_item')
  // @ts-expect-error the application has no such action
  await ada.action('add_things', { text: 'milk' })
  // @ts-expect-error a method is not an action
  await ada.action('readings', { from: 'a', to: 'b' })
  // @ts-expect-error an action is not a method
  await ada.method('add_item', { text: 'milk' })
  // @ts-expect-error the end is required
  await ada.method('readings', { from: 'a' })
  // @ts-expect-error the limit is a number
  await ada.set(budget, { limit: 'much' })
  // @ts-expect-error an item has a text
  await ada.list(shopping).append({ done: true })
  // @ts-expect-error a list is not a property
  await ada.get(shopping)
  // @ts-expect-error a property is not a list
  ada.list(budget)
  // @ts-expect-error the item has no such field
  await ada.list(shopping).query({ where: { price: 1 } })
  // @ts-expect-error the field is a boolean
  await ada.list(shopping).count({ done: 'no' })
  resolvesTo<PeerListPage<Shopping>>()(ada.list(shopping).query(), true)
  // @ts-expect-error a start is a number
  await ada.list(shopping).items({ start: 'first' })
}

export async function untyped(actor: ActorHandle): Promise<void> {
  const ada = actor.peer('peer')
  resolvesTo<Json | undefined>()(ada.action('anything', { any: [1] }), true)
  resolvesTo<Json | undefined>()(ada.method('anything'), true)
  resolvesTo<Json | undefined>()(ada.get('budget/limit'), true)
  resolvesTo<Json[]>()(ada.list('shopping').items(), true)
  resolvesTo<Json | undefined>()(actor.peer<typeof app>('peer').action('anything'), true)
  resolvesTo<string>()(actor.peer<typeof open>('peer').action('known', { a: 'b' }), true)
  resolvesTo<Json | undefined>()(actor.peer<typeof open>('peer').action('other', { c: 1 }), true)
  await ada.set('a', 1)
  await ada.list('shopping').append({ free: 'form' })
  // @ts-expect-error a path has at least one segment
  await ada.get([])
  // @ts-expect-error an input is JSON
  await ada.action('anything', 7n)
}

export async function inTransactions(actor: ActorHandle): Promise<void> {
  await actor.transaction(async (tx) => {
    // @ts-expect-error a transaction has the data of the actor, and not its peers
    tx.peer('peer')
  })
}

export function facts(error: unknown): readonly [number, string, string | undefined] | boolean {
  if (error instanceof PeerRefused) return [error.status, error.code, error.field]
  return (error instanceof PeerTimeout || error instanceof PeerUnreachable) && error.mayHaveRun
}

/** A handle of a peer can be passed with its types. */
export function listOf(ada: PeerHandle<typeof household>): PeerListHandle<Shopping, { text: string }> {
  return ada.list(shopping)
}
