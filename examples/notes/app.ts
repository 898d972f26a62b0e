/** The sample application: notes with search for people and AI clients, a property with hooks, and a resource. */
import { type ActorHandle, troupe } from 'troupe'
import { z } from 'zod'

const app = troupe({
  type: 'urn:actingweb:example.com:notes',
  name: 'Notes',
  description: 'A notebook that belongs to you: your notes, your address, your rules.',
  info: 'https://example.com/notes',
})

const note = z.object({ text: z.string().min(1).max(10_000), tags: z.array(z.string()).default([]) })

app.action(
  'add_note',
  {
    description: 'Adds a note at the end of the notebook',
    input: note,
    output: z.object({ index: z.int() }),
    annotations: { idempotentHint: false, destructiveHint: false },
    mcp: { name: 'create_note', title: 'Add a note' },
  },
  async ({ actor, input }) => ({ index: await actor.list('notes').append({ ...input, done: false }) }),
)

app.action(
  'search',
  {
    description: 'Finds the notes that hold a word',
    input: z.object({ word: z.string().min(1) }),
    annotations: { readOnlyHint: true },
    mcp: { title: 'Search the notes' },
  },
  async ({ actor, input }) => {
    const found: unknown[] = []
    for await (const page of actor.list('notes').pages()) {
      found.push(...page.filter(({ item }) => JSON.stringify(item).toLowerCase().includes(input.word.toLowerCase())))
    }
    return { found }
  },
)

// Peers and AI clients may call this, but the owner sees each call and approves it before it runs.
app.action(
  'clear_notes',
  {
    description: 'Removes every note',
    annotations: { destructiveHint: true },
    confirm: 'owner',
    mcp: { title: 'Remove every note', inputSchema: { type: 'object', additionalProperties: false } },
  },
  async ({ actor }) => {
    const removed = await actor.list('notes').length()
    await actor.list('notes').clear()
    return { removed }
  },
)

app.method(
  'summarize_notes',
  {
    description: 'Asks for a summary of the notes with a tag',
    mcp: {
      prompt: {
        title: 'Summarize my notes',
        arguments: [
          {
            name: 'tag',
            description: 'The tag; all notes without it',
            complete: async ({ actor, value }) => (await tagsOf(actor)).filter((tag) => tag.startsWith(value)),
          },
        ],
      },
    },
  },
  async ({ actor, input }) => {
    const notes = input.tag === undefined ? await actor.list('notes').items() : await notesWith(actor, input.tag)
    return `Summarize these notes in a few sentences:\n\n${notes.map((each) => `- ${note.parse(each).text}`).join('\n')}`
  },
)

app.method(
  'notes_with_tag',
  { description: 'The notes with a tag', mcp: { resource: { uri: 'notes://tags/{tag}', name: 'Notes with a tag' } } },
  async ({ actor, input }) => notesWith(actor, input.tag),
)

app.method(
  'latest_notes',
  { description: 'The ten newest notes', mcp: { resource: { uri: 'notes://latest', name: 'Latest notes' } } },
  async ({ actor }) => (await actor.list('notes').items()).slice(-10).reverse(),
)

// The default rights of AI clients. An owner can override them for each client.
app.trustType({
  name: 'mcp_client',
  display_name: 'AI client',
  description: 'Adds notes and finds them, and removes them when you agree to it',
  permissions: {
    tools: { allowed: ['create_note', 'search', 'clear_notes'] },
    prompts: { allowed: ['summarize_notes'] },
    resources: { patterns: ['notes://*'], operations: ['read'] },
    properties: { patterns: ['notes', 'notes/*'], operations: ['read'] },
  },
})

async function notesWith(actor: ActorHandle, tag: string): Promise<unknown[]> {
  return (await actor.list('notes').items()).filter((each) => note.parse(each).tags.includes(tag))
}

async function tagsOf(actor: ActorHandle): Promise<string[]> {
  const tags = (await actor.list('notes').items()).flatMap((each) => note.parse(each).tags)
  return [...new Set(tags)].toSorted()
}

app.method(
  'count',
  { description: 'How many notes there are', annotations: { readOnlyHint: true } },
  async ({ actor }) => ({
    notes: await actor.list('notes').length(),
  }),
)

app.method(
  'greet',
  { description: 'Says hello', input: z.object({ name: z.string() }), output: z.object({ greeting: z.string() }) },
  ({ input }) => ({ greeting: `Hello, ${input.name}` }),
)

app.resource('summary', async ({ actor, input }) => {
  if (input['method'] !== 'GET') return null
  return {
    creator: actor.creator,
    notes: await actor.list('notes').length(),
    properties: Object.keys(await actor.all()),
  }
})

// Only an email address can be stored here, and peers cannot read it.
app.property('email', {
  get: ({ caller, value }) => (caller.kind === 'peer' ? null : value),
  put: ({ value }) => (typeof value === 'string' && value.includes('@') ? value.trim().toLowerCase() : null),
  post: ({ value }) => (typeof value === 'string' && value.includes('@') ? value.trim().toLowerCase() : null),
})

// This property cannot be deleted.
app.property('created_with', { delete: () => null, get: ({ value }) => value })

app.on('actor_created', async ({ actor }) => {
  await actor.set('created_with', 'the notes sample')
  await actor
    .list('notes')
    .create({ description: 'The notebook', explanation: 'Each item is a note with text and tags' })
})

export default app
