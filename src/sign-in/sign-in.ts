/** Sign-in through external providers: wires its components, and begins the sign-ins that the callback finishes. */
import type { MailPort } from '../app/background/mail-port.ts'
import type { FailedAttempts } from '../rate-limit/failed-attempts.ts'
import type { Actors } from '../actor/actors.ts'
import { parseAddress } from '../actor/address.ts'
import { ServiceError } from '../errors.ts'
import type { TrustTypes } from '../permission/trust-types.ts'
import type { OneTime } from '../token/one-time.ts'
import type { Accounts } from './accounts.ts'
import type { ArrivedActors } from './arrived-actors.ts'
import { SignInCallback } from './callback.ts'
import { Claims } from './account-linking.ts'
import { SessionEntry, type EntryDeps } from './establish-session.ts'
import type { TokenDeliveryMode } from './flow.ts'
import { FreeText } from './email-entry.ts'
import { Native, requireProvider } from './native.ts'
import type { Provider, Providers } from './provider.ts'
import { askProvider, SignInRefusal } from './refusal.ts'
import { SafeTargets } from './safe-target.ts'
import { States } from './states.ts'
import { Tickets } from './tickets.ts'
import { Verification } from './verification.ts'

export interface SignInDeps extends EntryDeps {
  readonly oneTime: OneTime
  readonly actors: Actors
  readonly accounts: Accounts
  readonly providers: Providers
  readonly failedAttempts: FailedAttempts
  readonly trustTypes: TrustTypes
  readonly mail: MailPort
  readonly baseUrl: string
  /** Path to which the provider returns owners who authorize an AI client. */
  readonly clientPath: string
  /** Origins of single-page applications on other hosts. */
  readonly redirectOrigins: readonly string[]
  readonly isDevelopment: boolean
}

export interface OnWeb {
  /** Name of the provider. Default: the first configured provider. */
  readonly provider: string | undefined
  /** Path on this host to which the browser goes afterwards. */
  readonly redirect: string | undefined
  /** The actor whose page was requested, or which the person takes. */
  readonly actorId: string | undefined
  /** The code by which the person takes an actor from another service. Default: the person has an account. */
  readonly claim: string | undefined
  /** Keys of what the person keeps of that actor. Default: nothing. */
  readonly kept?: readonly string[] | undefined
  /** The typed email address. */
  readonly hint: string | undefined
  /** The browser cookie. */
  readonly browser: string
  /** The person must prove again who they are. */
  readonly isFresh: boolean
}

export interface ForApplication {
  readonly provider: string | undefined
  readonly target: string | undefined
  readonly returnPath: string
  readonly delivery: TokenDeliveryMode
  readonly trustType: string | undefined
  /** The application's own challenge. Default: the service generates and keeps the verifier. */
  readonly codeChallenge: string | undefined
  /** The cookie of the browser that will return, if the same browser must return. Otherwise null. */
  readonly browser: string | null
}

export interface BegunForApplication {
  readonly authorizationUrl: string
  readonly state: string
  readonly provider: string
  readonly codeChallenge: string
}

export class SignIn {
  readonly providers: Providers
  readonly callback: SignInCallback
  readonly native: Native
  readonly freeText: FreeText
  readonly verification: Verification
  readonly claims: Claims
  readonly targets: SafeTargets
  readonly accounts: Accounts
  readonly #trustTypes: TrustTypes
  readonly #states: States
  readonly #clientPath: string
  readonly #arrivedActors: ArrivedActors

  constructor(deps: SignInDeps) {
    const { store, oneTime, providers } = deps
    const entry = new SessionEntry(deps)
    this.providers = providers
    this.accounts = deps.accounts
    this.targets = new SafeTargets(deps.baseUrl, deps.redirectOrigins, providers.all)
    this.verification = new Verification(deps)
    this.freeText = new FreeText({ ...deps, entry, verification: this.verification })
    this.claims = new Claims({ ...deps, entry })
    const tickets = new Tickets(deps)
    this.native = new Native({ store, oneTime, providers, tickets, entry })
    this.#trustTypes = deps.trustTypes
    this.#clientPath = deps.clientPath
    this.#arrivedActors = deps.arrivedActors
    this.#states = new States(store, oneTime)
    this.callback = new SignInCallback({
      ...deps,
      states: this.#states,
      targets: this.targets,
      tickets,
      entry,
      freeText: this.freeText,
      claims: this.claims,
    })
  }

  /**
   * Begins a sign-in in a browser.
   *
   * @returns the provider's URL, to which the browser goes.
   * @throws ServiceError `bad_request` for an unknown provider or an unsafe redirect, SignInRefusal.
   */
  async beginOnWeb({
    provider: name,
    redirect,
    actorId,
    claim,
    hint,
    browser,
    isFresh,
    kept = [],
  }: OnWeb): Promise<string> {
    const provider = requireProvider(this.providers, name)
    const path = redirect === undefined ? null : this.targets.parsePath(redirect)
    if (redirect !== undefined && path === null) {
      throw new ServiceError('bad_request', 'Cannot begin the sign-in: redirect is not an address of this service')
    }
    const claimed = claim === undefined ? null : await this.#claimed(actorId ?? '', claim)
    const address = hint === undefined ? null : parseAddress(hint)
    const state = await this.#states.begin({
      flow: {
        kind: 'web',
        redirect: path,
        expectedActorId: claimed === null ? (actorId ?? null) : null,
        ...(claimed === null ? {} : { claimed: { actorId: claimed, kept } }),
        expectedIdentifier: address,
        forClient: path !== null && this.endsAtClient(path),
      },
      provider: provider.name,
      browser,
    })
    return authorizationUrl(provider, state, { loginHint: address, isFresh })
  }

  async #claimed(actorId: string, code: string): Promise<string> {
    if (await this.#arrivedActors.isCode(actorId, code)) return actorId
    throw new SignInRefusal('already_taken')
  }

  /** @param path Result of `SafeTargets.parsePath`. */
  endsAtClient(path: string): boolean {
    return path.split('?', 1)[0] === this.#clientPath
  }

  /** @throws ServiceError `bad_request` for a parameter that is not allowed, SignInRefusal. */
  async beginForApplication(asked: ForApplication): Promise<BegunForApplication> {
    const provider = requireProvider(this.providers, asked.provider)
    const { delivery, returnPath, trustType, browser, codeChallenge } = asked
    const target = asked.target === undefined ? null : this.targets.parse(asked.target)
    if (asked.target !== undefined && target === null) {
      throw new ServiceError(
        'bad_request',
        'Cannot begin the sign-in: redirect_uri is neither on this service nor on a configured origin',
      )
    }
    if (this.targets.parsePath(returnPath.replaceAll('{actor_id}', 'actor')) === null) {
      throw new ServiceError('bad_request', 'Cannot begin the sign-in: return_path is not a path of this service')
    }
    if (trustType !== undefined && !this.#mayBeAskedFor(trustType)) {
      throw new ServiceError('bad_request', 'Cannot begin the sign-in: trust_type is unknown or needs owner approval')
    }
    const state = await this.#states.begin({
      flow: { kind: 'spa', target, returnPath, delivery, trustType: trustType ?? null },
      provider: provider.name,
      browser,
      codeChallenge,
    })
    return {
      authorizationUrl: await authorizationUrl(provider, state),
      state: state.state,
      provider: provider.name,
      codeChallenge: state.codeChallenge,
    }
  }

  /** Returns whether an application may request this trust type. Types that need owner approval are excluded. */
  #mayBeAskedFor(trustType: string): boolean {
    const found = this.#trustTypes.find(trustType)
    if (found === null || found === undefined || this.#trustTypes.needsConfirmation(trustType)) return false
    return found.neverAutoApproved !== true
  }
}

function authorizationUrl(
  provider: Provider,
  { state, nonce, codeChallenge }: Awaited<ReturnType<States['begin']>>,
  { loginHint, isFresh }: { readonly loginHint: string | null; readonly isFresh: boolean } = {
    loginHint: null,
    isFresh: false,
  },
): Promise<string> {
  const hint = loginHint === null ? {} : { loginHint }
  return askProvider(provider.authorizationUrl({ state, nonce, codeChallenge, isFresh, ...hint }))
}
