/** An application for load: what lists can do beyond HTTP, as actions. */
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import { type App, troupe } from '../../src/troupe.ts'

interface ListInput {
  readonly index?: number
  readonly item?: object
  readonly t?: string
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
  remove: async (list, { t = '' }) => ({ count: await list.removeWhere('t', t, { firstOnly: true }) }),
  replace: async (list, { t = '', item = {} }) => ({
    count: await list.updateWhere('t', t, item, { firstOnly: true }),
  }),
}

export function declareLoadActions(app: App): void {
  for (const [name, run] of Object.entries(actions))
    app.action(name, async ({ actor, input }) => {
      const { list } = input as { list: string }
      return run(handleOf(actor, list), input as ListInput)
    })
}

function handleOf(actor: ActorHandle, name: string): ListHandle {
  return actor.list(name)
}

const app = troupe({ type: 'urn:actingweb:example.com:load', name: 'load' })
declareLoadActions(app)
export default app
