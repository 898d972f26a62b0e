/** Household: a family shares its shopping and its money. Each person has an actor, and sees the lists of everyone. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type ActorHandle, ServiceError, troupe, type TrustEvent } from 'troupe'
import { z } from 'zod'

const app = troupe({
  type: 'urn:actingweb:example.com:household',
  name: 'Household',
  description: 'The shopping and the money of a family.',
  singlePage: join(import.meta.dirname, 'public'),
})

const Item = z.object({ id: z.uuid(), text: z.string().trim().min(1).max(200), by: z.string(), done: z.boolean() })
const Budget = z.object({ limit: z.number().min(0), spent: z.number().min(0) })
export const shopping = app.list('items', { item: Item, indexes: ['id', 'done'], description: 'What to buy' })
export const budget = app.property('money', { schema: Budget, default: { limit: 500, spent: 0 }, description: 'Money' })

/** Marks an item as bought. False when it is not on the list, or when another call marks it at the same moment. */
async function tick(actor: ActorHandle, id: string): Promise<boolean> {
  const [found] = (await actor.list(shopping).query({ where: { id, done: false } })).items
  return found !== undefined && actor.list(shopping).updateByHandle(found.handle, { ...found.item, done: true })
}

const Tick = { input: Item.pick({ id: true }), output: z.boolean() }
const family = app.action('tick', Tick, ({ actor, input }) => tick(actor, input.id))

const Purchase = z.object({ owner: z.string(), id: z.uuid(), price: z.number().min(0) })
export const buy = app.action('buy', { input: Purchase }, async ({ actor, input: { owner, id, price } }) => {
  const peer = actor.peer<typeof family>(owner)
  const isTicked = await (owner === actor.id ? tick(actor, id) : peer.action('tick', { id }))
  if (!isTicked) throw new ServiceError('conflict', 'Cannot buy this item: someone else has bought it')
  await actor.update(budget, (now) => ({ ...now, spent: now.spent + price }))
})

const Wish = Item.pick({ text: true })
const adds = { description: 'Adds an item to buy', input: Wish }
export const addItem = app.action('add_item', { ...adds, mcp: true }, async ({ actor, input }) => {
  await actor.list(shopping).append({ ...input, id: randomUUID(), by: actor.creator, done: false })
})

const Home = Budget.extend({ items: z.array(Item.extend({ owner: z.string() })) })
const shows = { description: 'Shows the shopping and the money', output: Home }
export const showHousehold = app.action('show_household', { ...shows, mcp: true }, async ({ actor }) => {
  const { items } = await actor.list(shopping).query({ where: { done: false } })
  const home = { items: items.map(({ item }) => ({ ...item, owner: actor.id })), ...(await actor.get(budget)) }
  for (const { peerid: owner } of await actor.trust.list({ relationship: 'family' })) {
    const [theirs, money] = [await actor.remote(owner).get(shopping), await actor.remote(owner).get(budget)]
    home.items.push(...(theirs ?? []).filter(({ done }) => !done).map((item) => ({ ...item, owner })))
    home.limit += money?.limit ?? 0
    home.spent += money?.spent ?? 0
  }
  return home
})

app.action('clear_bought', { description: 'Forgets what was bought', confirm: 'owner', mcp: true }, ({ actor }) =>
  actor.list(shopping).removeWhere('done', true),
)

/** Each person of the family keeps a copy of what the others share. */
async function follow({ actor, peer_id, relationship }: TrustEvent): Promise<void> {
  if (relationship === 'family') await actor.subscribe(peer_id)
}
app.on('trust_fully_approved_local', follow).on('trust_fully_approved_remote', follow)

app.trustType({
  name: 'family',
  display_name: 'Family',
  description: 'Sees the shopping and the money, and buys items',
  permissions: { properties: { patterns: ['items', 'money'], operations: ['read'] }, actions: { allowed: ['tick'] } },
})
app.trustType({
  name: 'mcp_client',
  display_name: 'Assistant',
  description: 'Reads the household, and adds items',
  permissions: { tools: { allowed: ['add_item', 'show_household', 'clear_bought'] } },
})

export default app
