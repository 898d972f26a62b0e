/** Clients that change one actor each in numbered steps, so that the stored data shows how many steps were applied. */
import type { TestActor, TestService } from './service.ts'

/** Odd steps set the property `count`, even ones append to the list `log`: 1 and 2 store 1, 3 and 4 store 2. */
const halfOf = (step: number): number => Math.ceil(step / 2)

/** False stops the client. */
type Goes = Promise<boolean | void> | boolean | void

export class Steps {
  readonly #actors: readonly TestActor[]

  private constructor(actors: readonly TestActor[]) {
    this.#actors = actors
  }

  static async prepare(service: TestService, clients: number): Promise<Steps> {
    const actors: TestActor[] = []
    for (let client = 0; client < clients; client++) {
      const actor = await service.createActor(`client ${client}`)
      const answer = await actor.request('POST', '/properties', { log: { _type: 'list' } })
      if (answer.status !== 201) throw new Error(`Cannot create the list: status ${answer.status}`)
      actors.push(actor)
    }
    return new Steps(actors)
  }

  /** Runs all clients in parallel, each one step after the other, until `onAnswer` returns false. */
  async run(first: number, last: number, onAnswer: (client: number, step: number) => Goes): Promise<void> {
    const runClient = async (actor: TestActor, client: number): Promise<void> => {
      for (let step = first; step <= last; step++) {
        const [method, path] = step % 2 === 1 ? ['PUT', '/properties/count'] : ['POST', '/properties/log']
        const answer = await actor.request(method, path, halfOf(step))
        if (!answer.ok) throw new Error(`Step ${step} of client ${client} received status ${answer.status}`)
        if ((await onAnswer(client, step)) === false) return
      }
    }
    await Promise.all(this.#actors.map(runClient))
  }

  /**
   * Returns how many steps of each client a service has stored.
   *
   * @throws Error when the stored data matches no number of steps.
   */
  async heldBy(service: TestService): Promise<number[]> {
    return Promise.all(this.#actors.map((actor) => stepsOf(service, actor)))
  }
}

async function stepsOf(service: TestService, actor: TestActor): Promise<number> {
  const read = async (path: string): Promise<unknown> => {
    const answer = await service.request(`/${actor.id}${path}`, { headers: { authorization: actor.authorization } })
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw new Error(`Cannot read ${path}: status ${answer.status}: ${await answer.text()}`)
    return answer.json()
  }
  const [count = 0, log = []] = [await read('/properties/count'), await read('/properties/log')]
  for (let step = 0; ; step++) {
    const [sets, items] = [Math.ceil(step / 2), Math.floor(step / 2)]
    const left = JSON.stringify([sets, Array.from({ length: items }, (_, index) => index + 1)])
    if (left === JSON.stringify([count, log])) return step
    if (sets > Number(count))
      throw new Error(`The stored data matches no number of steps: ${JSON.stringify([count, log])}`)
  }
}
