/** A person of a test, signed in at a service. */
import { parseAddress } from '../actor/address.ts'
import type { ActorHandle } from '../app/actor-handle.ts'
import { type InferOutput, outputSchema, type StandardSchema } from '../app/schema.ts'
import { sessionCookie } from '../auth/credentials.ts'
import { type Json } from '../json/json.ts'
import type { App } from '../troupe.ts'
import { Browser, type BrowserDeps, type TestRequest } from './browser.ts'
import { lineOf, type TestLog } from './log.ts'
import { bodyOf, RequestRefused } from './refused.ts'
import type { TestProvider } from './test-provider.ts'

export interface PersonDeps extends BrowserDeps {
  readonly app: App
  readonly provider: TestProvider
  readonly log: TestLog
}

/** A person who is signed in, with the actor that belongs to the person. @public */
export class TestPerson {
  readonly email: string
  /** The actor, as the application uses it: calls run hooks and need no rights. */
  readonly actor: ActorHandle
  readonly #browser: Browser
  readonly #deps: PersonDeps
  readonly #name: string

  private constructor(deps: PersonDeps, browser: Browser, person: { email: string; name: string; actor: ActorHandle }) {
    this.#deps = deps
    this.#browser = browser
    this.email = person.email
    this.actor = person.actor
    this.#name = person.name
  }

  /** @throws RequestRefused when the application refuses the sign-in. */
  static async signIn(deps: PersonDeps, email: string, name: string): Promise<TestPerson> {
    const browser = new Browser(deps)
    const actorId = await enter(deps, browser, email, name)
    const actor = await deps.app.actors.get(actorId)
    if (actor === undefined) throw new Error(`Cannot sign in ${email}: the application deleted the new actor`)
    return new TestPerson(deps, browser, { email, name, actor })
  }

  /** The cookies of the session, by name. */
  get cookies(): ReadonlyMap<string, string> {
    return this.#browser.cookies
  }

  /** Calls an action of the actor, and returns its result; undefined for a handler that returns nothing. */
  action(name: string, input?: unknown): Promise<Json | undefined>
  /** Calls an action of the actor, and returns its result after the schema checked it. */
  action<S extends StandardSchema>(name: string, input: unknown, output: S): Promise<InferOutput<S>>
  action(name: string, input: unknown = {}, output?: StandardSchema): Promise<unknown> {
    return this.#call('actions', name, input, output)
  }

  /** Calls a method of the actor, and returns its result; undefined for a handler that returns nothing. */
  method(name: string, input?: unknown): Promise<Json | undefined>
  /** Calls a method of the actor, and returns its result after the schema checked it. */
  method<S extends StandardSchema>(name: string, input: unknown, output: S): Promise<InferOutput<S>>
  method(name: string, input: unknown = {}, output?: StandardSchema): Promise<unknown> {
    return this.#call('methods', name, input, output)
  }

  async #call(kind: 'actions' | 'methods', name: string, input: unknown, output?: StandardSchema): Promise<unknown> {
    const result = await this.json(`/${kind}/${encodeURIComponent(name)}`, { json: input })
    // The schema is not published, so it may contain what JSON Schema cannot express.
    return output === undefined ? result : outputSchema(output, {}).check(result)
  }

  /**
   * Sends a request as the person's browser, to a path below the actor. Redirects are not followed. When the session has
   * expired by the clock, the person signs in again first.
   */
  async fetch(path: string, init?: TestRequest): Promise<Response> {
    await this.renew()
    return this.#browser.fetch(path.startsWith('/') ? `/${this.actor.id}${path}` : path, init)
  }

  /**
   * Signs in again when the session has expired by the clock.
   *
   * @internal
   */
  async renew(): Promise<void> {
    if (this.#browser.hasExpired(sessionCookie)) await enter(this.#deps, this.#browser, this.email, this.#name)
  }

  /**
   * Like `fetch`, but returns the JSON of the response; undefined for an empty response.
   *
   * @throws RequestRefused for a status of 400 or more.
   */
  async json(path: string, init: TestRequest = {}): Promise<Json | undefined> {
    const { log } = this.#deps
    const before = log.errors.length
    const response = await this.fetch(path, init)
    const body = await bodyOf(response)
    if (response.status < 400) return body
    const logged = response.status >= 500 ? log.errors.slice(before).map(lineOf) : []
    const method = init.method ?? (init.json === undefined ? 'GET' : 'POST')
    throw new RequestRefused(`${method} ${path}`, response.status, body ?? null, logged)
  }
}

/** Signs in as a browser does, from the button of the provider to the session. Returns the id of the actor. */
async function enter(deps: PersonDeps, browser: Browser, email: string, name: string): Promise<string> {
  const address = parseAddress(email)
  if (address === null) throw new TypeError(`Cannot sign in ${JSON.stringify(email)}: it is not an email address`)
  const begun = await browser.fetch(`/oauth/login/${deps.provider.name}`)
  if (begun.status !== 302) throw await refusal('Cannot begin the sign-in', begun)
  const callback = deps.provider.signIn(begun.headers.get('location') ?? '', address, name)
  const ended = await browser.fetch(callback)
  if (!browser.cookies.has(sessionCookie)) throw await refusal(`Cannot sign in ${email}`, ended)
  const session = (await (await browser.fetch('/oauth/session')).json()) as { readonly actor_id: string }
  return session.actor_id
}

async function refusal(what: string, response: Response): Promise<RequestRefused> {
  return new RequestRefused(what, response.status, (await bodyOf(response)) ?? null)
}
