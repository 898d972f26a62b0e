/* oxlint-disable no-unused-expressions, typescript/no-unsafe-call, typescript/no-unsafe-member-access -- the mistakes that must not compile */
/**
 * The types of declared data, transactions and handlers. `npm run check` compiles this file. Each `@ts-expect-error` is a
 * mistake that must not compile.
 */
import { z } from 'zod'
import { type ActorHandle, type Json, troupe, type TransactionHandle } from '../../src/index.ts'
import type { ListHandle } from '../../src/handles.ts'

/** True when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only when the type of the promise is `Wanted`. */
function resolvesTo<Wanted>() {
  return <Actual>(_value: Promise<Actual>, _same: Same<Actual, Wanted>): void => {}
}

const app = troupe({ type: 'urn:actingweb:example.com:types' })
const Budget = z.object({ limit: z.number(), spent: z.number().default(0) })
interface BudgetValue {
  limit: number
  spent: number
}

const budget = app.property('budget', { schema: Budget, default: { limit: 500 } })
const motto = app.property('motto', { schema: z.string().transform((text) => text.length) })
const count = app.property('count', { schema: { type: 'integer' } })
const shopping = app.list('shopping', { item: z.object({ text: z.string(), done: z.boolean().default(false) }) })
interface Shopping {
  text: string
  done: boolean
}

// Hooks are still declared with the same function, and return the application.
app.property('email', { get: ({ value }) => value }).property('phone', ({ value }) => value)

// @ts-expect-error the default must fit the schema
app.property('a', { schema: z.string(), default: 7 })
app.property('e', {
  schema: Budget,
  version: 2,
  migrate: (old: unknown, from: number) => ({ limit: Number(old) + from }),
})
app.list('e', {
  item: z.object({ text: z.string() }),
  indexes: ['text'],
  version: 2,
  migrate: (old) => ({ text: String(old) }),
})
// @ts-expect-error migrate returns what fits the schema
app.property('e', { schema: Budget, version: 2, migrate: () => ({ limit: 'much' }) })
// @ts-expect-error migrate of a list returns an item
app.list('f', { item: z.object({ text: z.string() }), version: 2, migrate: () => ({ what: 'milk' }) })
// @ts-expect-error an older value has no known type
app.property('f', { schema: Budget, version: 2, migrate: (old) => ({ limit: Number(old.limit) }) })
// @ts-expect-error migrate returns at once
app.property('f', { schema: Budget, version: 2, migrate: async () => ({ limit: 1 }) })
// @ts-expect-error a version is a number
app.property('f', { schema: Budget, version: '2', migrate: () => ({ limit: 1 }) })
// @ts-expect-error an index is a field of the item
app.list('b', { item: z.object({ text: z.string() }), indexes: ['due'] })
// @ts-expect-error a schema is required
app.list('b', { description: 'no schema' })
// @ts-expect-error a schema is not text
app.list('c', { item: 'text' })

export async function reads(actor: ActorHandle): Promise<void> {
  resolvesTo<BudgetValue>()(actor.get(budget), true)
  resolvesTo<number | undefined>()(actor.get(motto), true)
  resolvesTo<Json | undefined>()(actor.get(count), true)
  resolvesTo<Json | undefined>()(actor.get('budget'), true)
  resolvesTo<Json | undefined>()(actor.get(['budget', 'limit']), true)
  resolvesTo<Shopping[]>()(actor.list(shopping).items(), true)
  resolvesTo<Shopping | undefined>()(actor.list(shopping).get(0), true)
  resolvesTo<Shopping | undefined>()(actor.list(shopping).pop(), true)
  resolvesTo<Json[]>()(actor.list('shopping').items(), true)
  for await (const { item } of actor.list(shopping)) item.text.trim()
  for await (const page of actor.list(shopping).pages()) page.map(({ item }) => item.done)
  const page = await actor.list(shopping).query({ where: { done: false }, sort: '-text', limit: 5, after: null })
  for (const { item, handle } of page.items) item.text.concat(handle)
  await actor.list(shopping).count({ text: 'milk', done: true })
  await actor.list('any').query({ where: { anything: null }, sort: 'other' })
  await actor.list(shopping).query({ where: { text: { startsWith: 'm', lt: 'n' }, done: { in: [true, false] } } })
  await actor.list('any').count({ anything: { gte: 1 } })
  // @ts-expect-error a boolean has no order
  await actor.list(shopping).count({ done: { gt: true } })
  // @ts-expect-error not an operator
  await actor.list(shopping).count({ text: { above: 'a' } })
  // @ts-expect-error the field is a string
  await actor.list(shopping).count({ text: { in: [1] } })
  // @ts-expect-error the item has no such field
  await actor.list(shopping).query({ where: { price: 1 } })
  // @ts-expect-error the field is a boolean
  await actor.list(shopping).count({ done: 'no' })
  // @ts-expect-error the item has no such field
  await actor.list(shopping).query({ sort: '-price' })
  const found = await actor.list(shopping).find('text', 'milk')
  found?.item.text.trim()
  // @ts-expect-error an item has no such member
  found?.item.name
  // @ts-expect-error a list is not a property
  await actor.get(shopping)
  // @ts-expect-error a property is not a list
  actor.list(budget)
  // @ts-expect-error a path has at least one segment
  await actor.get([])
}

export async function writes(actor: ActorHandle): Promise<void> {
  await actor.set(budget, { limit: 1 })
  await actor.set(motto, 'brief')
  await actor.set('anything', { a: [1, null] })
  await actor.list(shopping).append({ text: 'milk' })
  await actor.list(shopping).extend([{ text: 'milk', done: true }])
  await actor.list('other').append({ free: 'form' })
  await actor.delete(budget)
  await actor.delete(shopping)
  resolvesTo<BudgetValue>()(
    actor.update(budget, (value) => ({ ...value, spent: value.spent + 1 })),
    true,
  )
  resolvesTo<number>()(
    actor.update(motto, async (length) => 'x'.repeat(length ?? 0)),
    true,
  )
  // @ts-expect-error the limit is a number
  await actor.set(budget, { limit: 'much' })
  // @ts-expect-error the limit is required
  await actor.set(budget, { spent: 1 })
  // @ts-expect-error the schema takes text, and returns a number
  await actor.set(motto, 7)
  // @ts-expect-error an item has a text
  await actor.list(shopping).append({ done: true })
  // @ts-expect-error an item is an object
  await actor.list(shopping).insert(0, 'milk')
  // @ts-expect-error an item has no such member
  await actor.list(shopping).update(0, { text: 'milk', count: 2 })
  // @ts-expect-error the change returns a budget
  await actor.update(budget, () => 7)
  // @ts-expect-error without a default, the value may be missing
  await actor.update(motto, (length) => 'x'.repeat(length))
}

export async function transacts(actor: ActorHandle): Promise<void> {
  resolvesTo<number>()(
    actor.transaction(async (tx) => (await tx.get(budget)).limit),
    true,
  )
  await actor.transaction(async (tx) => {
    await tx.set(budget, { limit: 2 })
    await tx.list(shopping).append({ text: 'milk' })
    resolvesTo<Shopping[]>()(tx.list(shopping).items(), true)
    resolvesTo<BudgetValue>()(
      tx.update(budget, (value) => value),
      true,
    )
    // @ts-expect-error the limit is a number
    await tx.set(budget, { limit: 'much' })
    // @ts-expect-error a transaction has the data of the actor, and not its relationships
    tx.trust.list()
    // @ts-expect-error a transaction cannot contain another one
    await tx.transaction(async () => 1)
    const page = await tx.list(shopping).query({ where: { done: false }, sort: 'text' })
    for (const { item, handle } of page.items) item.text.concat(handle)
    resolvesTo<number>()(tx.list(shopping).count({ done: true }), true)
    // @ts-expect-error the item has no such field
    await tx.list(shopping).query({ where: { price: 1 } })
    // @ts-expect-error queries return the handles
    await tx.list(shopping).itemsWithHandles()
  })
  // @ts-expect-error the work of a transaction is asynchronous
  await actor.transaction((tx) => tx.id)
}

app.action('spend', { exclusive: true, input: z.object({ amount: z.number() }) }, async ({ actor, input }) => {
  const spent = (await actor.get(budget)).spent + input.amount
  await actor.update(budget, (value) => ({ ...value, spent }))
  // @ts-expect-error the input has no such member
  input.total
  // @ts-expect-error an exclusive action has the data of the actor, and not its subscriptions
  actor.subscribe
  return { spent }
})
app.action('ordinary', { input: z.object({ amount: z.number() }) }, async ({ actor }) => {
  await actor.trust.list()
})
app.method('exclusive', { exclusive: true }, async ({ actor }) => actor.all())
// @ts-expect-error exclusive is true or false
app.action('wrong', { exclusive: 'yes' }, async () => {})

/** A list of any items can be passed where its items are not named. */
export function anyList(actor: ActorHandle): ListHandle<Shopping, { text: string }> {
  return actor.list(shopping)
}

/** A transaction and an actor have the same reads and writes of data. */
export async function either(data: TransactionHandle | ActorHandle): Promise<number> {
  return (await data.get(budget)).limit
}
