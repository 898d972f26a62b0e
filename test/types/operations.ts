/* oxlint-disable no-unused-expressions -- the mistakes that must not compile */
/**
 * The types of actions, methods, hooks, events and rules. `npm run check` compiles this file. Each `@ts-expect-error` is a
 * mistake that must not compile.
 */
import { z } from 'zod'
import {
  type ActorHandle,
  type Caller,
  type HandlerResult,
  type Json,
  type ResultFor,
  troupe,
  type TransactionHandle,
} from '../../src/index.ts'
import type { PromptArgument } from '../../src/mcp.ts'

/** Compiles only when the type of the value is `Wanted`. */
function is<Wanted>() {
  return <Actual>(
    _value: Actual,
    _same: (<T>() => T extends Actual ? 1 : 2) extends <T>() => T extends Wanted ? 1 : 2 ? true : false,
  ): void => {}
}

const app = troupe({ type: 'urn:actingweb:example.com:types' })
const Input = z.object({ text: z.string(), days: z.int().default(14) })
const Output = z.object({ index: z.int(), note: z.string().optional() })

// Results

app.action('a', { output: Output }, () => ({ index: 1 }))
app.action('b', { output: Output }, async () => ({ index: 1, note: 'x' }))
app.action('c', { output: Output }, () => null)
app.action('d', { input: Input, output: Output }, async ({ input }) => (input.days > 1 ? { index: 1 } : null))
app.method('e', { output: z.array(z.string()) }, async () => ['x'])
app.method('f', { output: z.date(), outputSchema: { type: 'string' } }, () => new Date())
app.action('g', { output: Output, exclusive: true }, async () => ({ index: 1 }))
// An output that is JSON Schema, and an absent one, allow any result.
app.action('h', { output: { type: 'object' } }, () => ({ anything: true }))
app.action('i', { output: { type: 'object' } }, () => {})
app.action('j', { input: Input }, () => 7)
app.action('k', () => {})

// @ts-expect-error the result has an index
app.action('l', { output: Output }, () => ({ foo: 'x' }))
// @ts-expect-error the index is a number
app.action('m', { output: Output }, async () => ({ index: 'one' }))
// @ts-expect-error an action with an output returns a result
app.action('n', { output: Output }, () => {})
// @ts-expect-error an action with an output returns a result in every branch
app.action('o', { input: Input, output: Output }, async ({ input }) => (input.days > 1 ? { index: 1 } : undefined))
// @ts-expect-error a method returns its output too
app.method('p', { output: z.array(z.string()) }, async () => [1])
// @ts-expect-error the handler of an exclusive action returns its output too
app.action('q', { output: Output, exclusive: true }, async () => ({ index: true }))
// @ts-expect-error an output is a schema
app.action('r', { output: 'number' }, () => 7)

export function results(fitting: ResultFor<typeof Output>, any: ResultFor<{ type: 'number' }>): void {
  is<{ index: number; note?: string | undefined } | null>()(fitting, true)
  is<HandlerResult>()(any, true)
}

// Calls

app.action('s', { input: Input }, ({ input, actor, caller, name }) => {
  is<{ text: string; days: number }>()(input, true)
  is<ActorHandle>()(actor, true)
  is<Caller>()(caller, true)
  is<string>()(name, true)
  // @ts-expect-error the input has no such member
  input.title
})
app.action('t', { exclusive: true }, async ({ actor, input }) => {
  is<TransactionHandle>()(actor, true)
  is<unknown>()(input, true)
})
app.method('u', { input: { type: 'object' } }, ({ input }) => {
  is<unknown>()(input, true)
})
app.action(
  'forget',
  {
    input: Input,
    confirm: {
      owner: true,
      preview: ({ actor, input }) => {
        is<ActorHandle>()(actor, true)
        is<{ text: string; days: number }>()(input, true)
        return `Forgets ${input.text}.`
      },
    },
  },
  () => {},
)
app.method('remind', { confirm: { owner: true } }, () => 'x')
// @ts-expect-error a preview is a text
app.action('forget', { confirm: { owner: true, preview: () => 3 } }, () => {})
// @ts-expect-error the owner approves
app.action('forget', { confirm: { preview: () => 'x' } }, () => {})
// @ts-expect-error confirm names who approves
app.action('v', { confirm: 'anyone' }, () => {})
// @ts-expect-error a method is a prompt or a resource, and not a tool
app.method('w', { mcp: true }, () => 'x')
// @ts-expect-error an action is a tool, and not a prompt
app.action('x', { mcp: { prompt: true } }, () => 'x')
// @ts-expect-error a handler is a function
app.action('y', { description: 'Nothing' }, 'x')

// Prompts and resources

app.method(
  'ask',
  { mcp: { prompt: { arguments: [{ name: 'day' }, { name: 'tag', required: true }] } } },
  ({ input }) => {
    is<{ readonly day?: string; readonly tag: string }>()(input, true)
    // @ts-expect-error the prompt has no such argument
    input.topic
  },
)
app.method(
  'complete',
  { mcp: { prompt: { arguments: [{ name: 'tag', complete: ({ value, actor }) => [value, actor.id] }] } } },
  async ({ input, actor }) => {
    is<{ readonly tag?: string }>()(input, true)
    is<ActorHandle>()(actor, true)
    return input.tag ?? null
  },
)
app.method('read', { mcp: { resource: { uri: 'notes://{folder}/{+path}' } } }, ({ input }) => {
  is<{ readonly folder: string; readonly path: string; readonly uri?: string }>()(input, true)
  // @ts-expect-error the template has no such variable
  input.id
})
app.method('move', { mcp: { resource: { uri: 'notes://{id}' } }, exclusive: true }, async ({ input, actor }) => {
  is<{ readonly id: string; readonly uri?: string }>()(input, true)
  is<TransactionHandle>()(actor, true)
})
// An own input replaces the arguments.
app.method('own', { input: Input, mcp: { prompt: { arguments: [{ name: 'day' }] } } }, ({ input }) => {
  is<{ text: string; days: number }>()(input, true)
})
app.method('shape', { input: { type: 'object' }, mcp: { prompt: { arguments: [{ name: 'day' }] } } }, ({ input }) => {
  is<unknown>()(input, true)
})
// Without arguments and variables, the input has no type.
app.method('bare', { mcp: { prompt: true } }, ({ input }) => {
  is<unknown>()(input, true)
})
app.method('fixed', { mcp: { resource: { uri: 'notes://all' } } }, ({ input }) => {
  is<unknown>()(input, true)
})
export function untold(uri: string, args: PromptArgument[]): void {
  app.method('any', { mcp: { resource: { uri } } }, ({ input }) => {
    is<string | undefined>()(input['id'], true)
  })
  app.method('some', { mcp: { prompt: { arguments: args } } }, ({ input }) => {
    is<string | undefined>()(input['tag'], true)
  })
}
// @ts-expect-error the result fits the output
app.method('out', { output: Output, mcp: { resource: { uri: 'n://{id}' } } }, ({ input }) => ({ index: input.id }))
// @ts-expect-error the name of an argument is a string
app.method('bad', { mcp: { prompt: { arguments: [{ name: 7 }] } } }, () => 'x')
// @ts-expect-error the address of a resource is `uri`
app.method('bad', { mcp: { resource: { url: 'notes://{id}' } } }, () => 'x')
// @ts-expect-error a method is a prompt or a resource, and not both
app.method('bad', { mcp: { prompt: true, resource: true } }, () => 'x')

// Hooks, events and rules

app.property('email', {
  put: ({ value, path, operation }) => {
    is<Json>()(value, true)
    is<readonly string[]>()(path, true)
    is<'get' | 'put' | 'post' | 'delete'>()(operation, true)
    return value
  },
})
// @ts-expect-error the operation of a hook is get, put, post or delete
app.property('email', { read: () => 1 })

app.on('oauth_success', ({ email, access_token }) => {
  is<string>()(email, true)
  is<string>()(access_token, true)
})
app.on('actor_deleted_complete', ({ actor }) => {
  is<null>()(actor, true)
})
// @ts-expect-error the event does not exist
app.on('actor_born', () => {})
// @ts-expect-error the event of a deleted actor has no email
app.on('actor_deleted', ({ email }) => email)

const reader = { name: 'reader', display_name: 'Reader', description: 'Reads' }
app.trustType({ ...reader, permissions: { properties: { patterns: ['*'], operations: ['read', 'append'] } } })
// @ts-expect-error the operation of actions is execute
app.trustType({ ...reader, permissions: { actions: { patterns: ['*'], operations: ['read'] } } })
// @ts-expect-error the category is properties
app.trustType({ ...reader, permissions: { propertys: { patterns: ['*'] } } })
// @ts-expect-error a trust type has permissions
app.trustType(reader)
export async function grants(actor: ActorHandle): Promise<void> {
  await actor.trust.grant('p', { methods: { patterns: ['x'], operations: ['call'] }, until: new Date() })
  // @ts-expect-error the operation of methods is call
  await actor.trust.grant('p', { methods: { patterns: ['x'], operations: ['read'] } })
  // @ts-expect-error the category is properties
  await actor.trust.grant('p', { property: { patterns: ['x'], operations: ['read'] } })
  await actor.trust.may('p', 'resources.read', 'x')
  // @ts-expect-error the operation of actions is execute
  await actor.trust.may('p', 'actions.call', 'x')
}

// Clients with an end

export async function ends(actor: ActorHandle): Promise<void> {
  const { client } = await actor.clients.create({ name: 'A scale', until: new Date() })
  is<Date | null>()(client.until, true)
  is<boolean>()(await actor.clients.moveEnd(client.clientId, null), true)
  // @ts-expect-error the end is a date
  await actor.clients.create({ name: 'A scale', until: '2031-01-01' })
  // @ts-expect-error the end is given
  await actor.clients.moveEnd(client.clientId)
}

// @ts-expect-error an application has a type
troupe({ name: 'Notes' })
