/**
 * Asks the user questions in the revision without server requests: the call ends with the questions, and the client
 * repeats the call with the answers. `requestState` carries earlier answers, sealed for the caller, the method and the
 * parameters, so that no other caller or call can use them.
 */
import { own } from '../../json/json.ts'
import type { ClientQuestion } from '../../app/mcp-declarations.ts'
import { digestOf } from '../../json/canonical.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import type { Channel, InFlightCall } from './call.ts'
import { answerProblem, requestOf } from './client-answer.ts'
import { McpFailure } from '../protocol/failure.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import type { InputRequired, McpResult } from '../protocol/result.ts'

/** Time limit for an answer of a person, in milliseconds. */
const patienceMs = 15 * 60_000

type Answers = Readonly<Record<string, unknown>>

/** Ends a handler that lacks answers. It carries the open questions. */
export class InputRequiredError extends Error {
  override readonly name = 'InputRequiredError'
  readonly questions: Readonly<Record<string, ClientQuestion>>

  constructor(questions: Readonly<Record<string, ClientQuestion>>) {
    super('The client must answer questions first')
    this.questions = questions
  }
}

/** The answers that a call contains, from this round and earlier rounds. */
class RoundTrip {
  readonly #ring: KeyRing
  readonly #call: InFlightCall
  readonly #now: number
  readonly #answers: Answers

  /** @throws McpFailure `invalid_params` for a state that was modified, has expired, or belongs to another call or caller. */
  constructor(ring: KeyRing, call: InFlightCall, now: number) {
    this.#ring = ring
    this.#call = call
    this.#now = now
    const given = call.params['inputResponses']
    this.#answers = { ...this.#before(), ...(isRecord(given) ? given : {}) }
  }

  /** @throws InputRequiredError when an answer is missing or invalid. */
  ask(questions: Readonly<Record<string, ClientQuestion>>): Answers {
    const open_ = Object.entries(questions).filter(
      ([key, question]) => answerProblem(requestOf(question), own(this.#answers, key)) !== null,
    )
    if (open_.length > 0) throw new InputRequiredError(Object.fromEntries(open_))
    return Object.fromEntries(Object.keys(questions).map((key) => [key, own(this.#answers, key)]))
  }

  /** The result with the questions. `requestState` carries the answers to all other questions. */
  toResult({ questions }: InputRequiredError): InputRequired {
    const kept = Object.fromEntries(Object.entries(this.#answers).filter(([key]) => !Object.hasOwn(questions, key)))
    const state = JSON.stringify({ answers: kept, until: this.#now + patienceMs })
    return {
      kind: 'input_required',
      inputRequests: Object.fromEntries(Object.entries(questions).map(([key, question]) => [key, requestOf(question)])),
      requestState: seal(this.#ring, state, this.#binding()),
    }
  }

  #before(): Answers {
    const { requestState } = this.#call.params
    if (requestState === undefined) return {}
    const text = typeof requestState === 'string' ? this.#opened(requestState) : null
    const state: unknown = text === null ? null : JSON.parse(text)
    if (!isRecord(state) || typeof state['until'] !== 'number' || state['until'] < this.#now) {
      throw new McpFailure(
        'invalid_params',
        'Invalid request state: it has expired or belongs to another call; begin again',
      )
    }
    return isRecord(state['answers']) ? state['answers'] : {}
  }

  #opened(state: string): string | null {
    try {
      return open(this.#ring, state as Sealed, this.#binding())
    } catch {
      return null
    }
  }

  #binding(): readonly string[] {
    const { access, method, params } = this.#call
    const { inputResponses: _answers, requestState: _state, _meta, ...rest } = params
    const { peerId, clientId } = access.caller
    return [access.actor.id, 'mcp.request_state', peerId, clientId, method, digestOf(rest)]
  }
}

/**
 * Runs a handler with the answers that the call contains. Questions without an answer become the result.
 *
 * @throws McpFailure
 */
export async function withInputRequired(
  { keyRing, now }: { readonly keyRing: KeyRing; readonly now: () => number },
  call: InFlightCall,
  run: (call: InFlightCall) => Promise<McpResult> | McpResult,
): Promise<McpResult> {
  const trip = new RoundTrip(keyRing, call, now())
  const { channel: outer } = call
  const channel: Channel = {
    signal: () => outer.signal(),
    progress: (...values) => outer.progress(...values),
    log: (...values) => outer.log(...values),
    ask: async (questions) => trip.ask(questions),
    background: () => outer.background(),
  }
  try {
    return await run({ ...call, channel })
  } catch (error) {
    if (error instanceof InputRequiredError) return trip.toResult(error)
    throw error
  }
}

/** @throws McpFailure `missing_capability` that lists every missing capability. */
export function requireCapabilities(
  questions: Readonly<Record<string, ClientQuestion>>,
  declared: MessageParams,
): void {
  const missing: Record<string, object> = {}
  for (const question of Object.values(questions)) {
    if ('elicit' in question) {
      const elicitation = declared['elicitation']
      // An empty object means forms.
      const takesForms = isRecord(elicitation) && (Object.keys(elicitation).length === 0 || 'form' in elicitation)
      if (!takesForms) missing['elicitation'] = { form: {} }
    } else if ('open' in question) {
      if (!opensAddresses(declared)) missing['elicitation'] = { url: {} }
    } else if ('sample' in question) {
      if (!isRecord(declared['sampling'])) missing['sampling'] = {}
    } else if (!isRecord(declared['roots'])) {
      missing['roots'] = {}
    }
  }
  if (Object.keys(missing).length === 0) return
  throw new McpFailure('missing_capability', 'Cannot ask the client: it did not declare the required capabilities', {
    requiredCapabilities: missing,
  })
}

export function opensAddresses(declared: MessageParams): boolean {
  const elicitation = declared['elicitation']
  return isRecord(elicitation) && isRecord(elicitation['url'])
}
