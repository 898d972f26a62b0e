/** The types of a client, as the compiler checks them: each error is expected. */
import { createClient } from 'troupe/client'
import { useList, usePeers, useProperty, useWatched } from 'troupe/react'
import { troupe } from 'troupe'
import { z } from 'zod'

const app = troupe({ type: 'urn:actingweb:example.com:types' })
const module = {
  default: app,
  budget: app.property('budget', { schema: z.object({ spent: z.number() }), default: { spent: 0 } }),
  title: app.property('title', { schema: z.string() }),
  tasks: app.list('tasks', { item: z.object({ text: z.string(), due: z.int().default(1) }) }),
  add: app.action('add', { input: z.object({ text: z.string() }), output: z.boolean() }, () => true),
  rest: app.action('rest', { output: z.number() }, () => 1),
  sum: app.method('sum', { input: z.object({ of: z.number() }), output: z.number() }, ({ input }) => input.of),
}

const client = createClient<typeof module>({ url: 'https://example.com' })

export const added: Promise<boolean> = client.action('add', { text: 'tea' })
export const rested: Promise<number> = client.action('rest')
export const summed: Promise<number> = client.method('sum', { of: 1 })
// @ts-expect-error: the input is missing
void client.action('add')
// @ts-expect-error: not a declared action
void client.action('remove', {})
// @ts-expect-error: a method is not an action
void client.action('sum', { of: 1 })

export const budget: Promise<{ spent: number }> = client.property('budget').get()
export const title: Promise<string | undefined> = client.property('title').get()
// @ts-expect-error: the title may be missing
export const certain: Promise<string> = client.property('title').get()
// @ts-expect-error: a title is a string
void client.property('title').set(5)
// @ts-expect-error: not a declared property
void client.property('tasks')
export const updated = client.property('budget').update(({ spent }) => ({ spent: spent + 1 }))

void client.list('tasks').append({ text: 'tea' })
// @ts-expect-error: the text is missing
void client.list('tasks').append({ due: 2 })
// @ts-expect-error: not a field of an item
void client.list('tasks').read({ sort: 'age' })
export const due: Promise<number | undefined> = client
  .list('tasks')
  .read({ where: { due: 2 } })
  .then(({ items }) => items[0]?.due)

export const theirs: Promise<{ spent: number } | undefined> = client.peer('x').property('budget').get()
const copy = client.peer('x')
/** A copy cannot be changed. */
export const isReadOnly: 'set' extends keyof ReturnType<typeof copy.property<'budget'>> ? never : true = true
export const hasNoAppend: 'append' extends keyof ReturnType<typeof copy.list<'tasks'>> ? never : true = true

export function Shown(): string {
  const { value, state } = useProperty(client.property('budget'))
  const spent: number | undefined = value?.spent
  const { items } = useList(client.list('tasks'), { sort: '-due' })
  const texts: string[] = items.map(({ text }) => text)
  const ids: string[] | undefined = usePeers(client).value?.map(({ peerid }) => peerid)
  return `${state} ${spent ?? ''} ${texts.join()} ${ids?.join() ?? ''}`
}

const length = client.watched(() => client.list('tasks').length())
export function Length(): number {
  // @ts-expect-error: nothing was read yet
  useWatched(length).value.toFixed()
  return useWatched(length).value ?? 0
}

// Without a type, every name and any JSON.
const anyone = createClient({ url: 'https://example.com' })
void anyone.action('anything', { a: 1 })
void anyone.property('any').set({ a: 1 })
void anyone.list('any').append(['x'])

// The application itself, when its operations are chained.
const chained = troupe({ type: 'urn:actingweb:example.com:types' })
  .action('one', { output: z.number() }, () => 1)
  .action('two', { output: z.string() }, () => '2')
const ofChained = createClient<typeof chained>({ url: 'https://example.com' })
export const one: Promise<number> = ofChained.action('one')
export const two: Promise<string> = ofChained.action('two')
// @ts-expect-error: not a declared action
void ofChained.action('three')
