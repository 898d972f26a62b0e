/** Shows the owner's passkeys and takes their forms. */
import { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { passkeyFingerprint } from '../../sign-in/passkey/fingerprint.ts'
import type { PasskeyActs } from '../../sign-in/acts/passkey-acts.ts'
import type { Passkey } from '../../sign-in/passkey/passkey-store.ts'
import type { Passkeys } from '../../sign-in/passkey/passkeys.ts'
import type { PasskeySignIn } from '../../sign-in/passkey/passkey-sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { shownDevice } from '../apps/apps-page.ts'
import type { Messages } from '../languages/language.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../shared/page.ts'
import { formRefusal, inputRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import type { PasskeyRow, PasskeysValues } from './values.ts'

export interface PasskeysPageDeps extends PageDeps {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly passkeys: Passkeys
  readonly passkeyActs: PasskeyActs
  /** Null when people do not sign in with passkeys. */
  readonly passkeySignIn: PasskeySignIn | null
  readonly pages: { readonly passkeys: View<PasskeysValues> }
}

const longestName = 100

interface PasskeysOutcome {
  readonly error?: ServiceError
  readonly newCodes?: readonly string[]
}

export async function showPasskeys(
  deps: PasskeysPageDeps,
  exchange: PageExchange,
  { error, newCodes }: PasskeysOutcome = {},
): Promise<HttpResponse> {
  const { actor, request } = exchange
  const { messages } = deps.languages.of(request)
  const [values, { passkeys, codeCount }] = await Promise.all([
    pageValues(deps, exchange, '/passkeys', error),
    deps.passkeys.list(actor.id),
  ])
  const creation = deps.passkeySignIn === null ? null : await deps.passkeys.beginCreation(actor, passkeys)
  const page = deps.pages.passkeys({
    ...values,
    passkeys: passkeys.map((passkey) => rowOf(passkey, deps.now(), messages)),
    code_count: codeCount,
    new_codes: newCodes ?? null,
    creation_options: creation?.options ?? null,
    ticket: creation?.ticket ?? '',
    new_name: shownDevice({ device: deviceOf(request.header('user-agent')) }, messages),
    form_action: `${values.actor_www}/passkeys`,
  })
  return showPage(deps, exchange, page, error?.status)
}

function rowOf(
  { passkeyId, publicKey, name, createdAt, lastUsedAt, synced }: Passkey,
  now: number,
  messages: Messages,
): PasskeyRow {
  return {
    id: passkeyId,
    name: shownDevice({ device: name }, messages),
    created: momentOf(createdAt, now, messages),
    last_used: lastUsedAt === null ? null : momentOf(lastUsedAt, now, messages),
    is_synced: synced,
    fingerprint: passkeyFingerprint({ publicKey }),
  }
}

type Change = (deps: PasskeysPageDeps, exchange: PageExchange, sent: Params) => Promise<HttpResponse>

const changes: Readonly<Record<string, Change>> = {
  add,
  rename,
  remove,
  new_codes: replaceCodes,
}

export async function changePasskeys(
  deps: PasskeysPageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  const action = sent.get('action') ?? ''
  const show = (error: ServiceError): Promise<HttpResponse> => showPasskeys(deps, exchange, { error })
  return refusedOnPage(
    exchange,
    () => {
      const change = Object.hasOwn(changes, action) ? changes[action] : undefined
      if (change === undefined) throw formRefusal('the action is neither add, rename, remove nor new_codes')
      if (change === add) deps.freshSignIn.require(exchange.caller)
      return change(deps, exchange, sent)
    },
    show,
  )
}

async function add(deps: PasskeysPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  if (deps.passkeySignIn === null)
    throw new ServiceError('forbidden', 'Cannot add a passkey: people do not sign in with passkeys here')
  const response = sent.get('response') ?? ''
  if (response === '') throw inputRefusal('response is empty', ({ passkeys }) => passkeys.needsScript)
  const added = { ticket: sent.get('ticket') ?? '', response, name: sentName(sent) }
  await inWords(deps.passkeyActs.add(exchange, added), ({ passkeys }) => passkeys.notAdded)
  return goOn(deps, exchange, sent, '/passkeys', 'passkeyAdded')
}

async function rename(deps: PasskeysPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  await deps.passkeyActs.rename(exchange, sent.get('passkey') ?? '', sentName(sent))
  return goOn(deps, exchange, sent, '/passkeys', 'saved')
}

async function remove(deps: PasskeysPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const removal = deps.passkeyActs.remove(exchange, sent.get('passkey') ?? '')
  await inWords(removal, ({ passkeys }) => passkeys.isLast)
  return goOn(deps, exchange, sent, '/passkeys', 'passkeyRemoved')
}

/** Shows the codes in the response, because they are shown only once. */
async function replaceCodes(deps: PasskeysPageDeps, exchange: PageExchange): Promise<HttpResponse> {
  return showPasskeys(deps, exchange, { newCodes: await deps.passkeyActs.replaceCodes(exchange) })
}

/** @throws ServiceError for a name that is empty or too long. */
function sentName(sent: Params): string {
  const name = (sent.get('name') ?? '').replaceAll(/\p{Cc}/gu, ' ').trim()
  if (name === '' || name.length > longestName || !name.isWellFormed())
    throw inputRefusal('the name is empty or too long', ({ passkeys }) => passkeys.nameInvalid(longestName), 'name')
  return name
}

/** Explains the refusals of `Passkeys` in the words of the page. */
async function inWords(work: Promise<void>, inConflict: (messages: Messages) => string): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.code === 'conflict') throw explained(error, inConflict)
    if (error.code === 'bad_request') throw pageRefusal(error.code, error.message, ({ passkeys }) => passkeys.failed)
    throw error
  }
}
