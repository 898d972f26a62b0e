/** An application for load tests. Its actions offer operations of lists and actors that HTTP does not have. */
import type { ListHandle } from '../../src/app/actor-handle.ts'
import { type App, troupe } from '../../src/troupe.ts'

interface ListInput {
  readonly index?: number
  readonly item?: object
  readonly t?: string
  readonly handle?: string
}

const actions: Readonly<Record<string, (list: ListHandle, input: ListInput) => Promise<object>>> = {
  append: async (list, { item = {} }) => ({ index: await list.append(item) }),
  insert: async (list, { index = 0, item = {} }) => {
    await list.insert(index, item)
    return { done: true }
  },
  pop: async (list, { index = -1 }) => ({ item: (await list.pop(index)) ?? null }),
  clear: async (list) => {
    await list.clear()
    return { done: true }
  },
  handles: async (list) => ({ handles: (await list.itemsWithHandles()).map(({ handle }) => handle) }),
  updateByHandle: async (list, { handle = '', item = {} }) => ({ done: await list.updateByHandle(handle, item) }),
  deleteByHandle: async (list, { handle = '' }) => ({ done: await list.deleteByHandle(handle) }),
  remove: async (list, { t = '' }) => ({ count: await list.removeWhere('t', t, { firstOnly: true }) }),
  replace: async (list, { t = '', item = {} }) => ({
    count: await list.updateWhere('t', t, item, { firstOnly: true }),
  }),
}

export function declareLoadActions(app: App): void {
  for (const [name, run] of Object.entries(actions))
    app.action(name, async ({ actor, input }) => {
      const { list } = input as { list: string }
      return run(actor.list(list), input as ListInput)
    })
  app.action('replace_actor', async ({ input }) => {
    const { actor } = await app.actors.create({ creator: (input as { creator: string }).creator, deleteExisting: true })
    return { id: actor.id }
  })
}

const app = troupe({ type: 'urn:actingweb:example.com:load', name: 'load' })
declareLoadActions(app)
export default app
