/** The page of a sign-in by email: sends a link with a code, and takes the code. */
import { parseAddress } from '../../actor/address.ts'
import { fireForConsent } from '../../app/events.ts'
import type { MailPort } from '../../app/background/mail-port.ts'
import type { Registry } from '../../app/registry.ts'
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import type { Store } from '../../store/store.ts'
import type { OneTime } from '../../token/one-time.ts'
import { leadsAway } from '../flow.ts'
import { ownSignInOf } from '../own/own-codes.ts'
import { SignInRefusal } from '../refusal.ts'
import type { Begun, States } from '../states.ts'
import { newTypedCode, parseTypedCode } from '../../secret/typed-code.ts'
import type { AddressProof, EmailLinkProvider } from './email-link-provider.ts'
import { emailLinkName } from './names.ts'

export interface EmailLinkSignInDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly registry: Registry
  readonly log: Log
  readonly states: States
  readonly provider: EmailLinkProvider
  readonly mail: MailPort
  /** In development, the link is logged when the application has no handler that sends it. */
  readonly isDevelopment: boolean
}

/** A sign-in that arrives at the page. */
export interface AtEmailLink {
  readonly state: string
  readonly codeChallenge: string
  /** The cookie of the browser. */
  readonly browser: string | null
}

export interface EmailLinkStep {
  /** The address that the sign-in must end with, if it began with one. */
  readonly expected: string | null
  /** True when the sign-in leaves the service afterwards, to an application or an AI client. */
  readonly leadsAway: boolean
}

/** Length of the code. It is valid for ten minutes, and only with the state of the sign-in, which has 256 bits. */
const codeLength = 8

export class EmailLinkSignIn {
  readonly #deps: EmailLinkSignInDeps

  constructor(deps: EmailLinkSignInDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError `bad_request` for a state that is unknown or belongs to another browser. */
  async look(at: AtEmailLink): Promise<EmailLinkStep> {
    const { flow } = await this.#find(at)
    return {
      expected: flow.kind === 'web' ? flow.expectedIdentifier : null,
      leadsAway: leadsAway(flow),
    }
  }

  /**
   * Sends a link and a code to the address, by the handler of the application or as mail of the service. The result does not
   * show whether the address has an account.
   *
   * @param language Tag of the language of the page.
   * @returns the normalized address.
   * @throws ServiceError `invalid_value` for an invalid address, `provider_failed` when the handler could not send it.
   */
  async send(at: AtEmailLink, typed: string, language: string): Promise<string> {
    const { store, oneTime, provider } = this.#deps
    await this.#find(at)
    const address = parseAddress(typed)
    if (address === null)
      throw new ServiceError('invalid_value', 'Please enter an e-mail address, such as you@example.com.')
    const code = newTypedCode(codeLength)
    const data: AddressProof = { address }
    await store.write((tx) =>
      oneTime.create(tx, {
        purpose: 'email_link',
        data,
        browser: at.browser,
        value: valueOf(parseTypedCode(code, codeLength) ?? '', at),
      }),
    )
    const url = provider.pageWith({ state: at.state, code_challenge: at.codeChallenge, code })
    await this.#announce({ email: address, url, code }, language)
    return address
  }

  /**
   * Consumes a code.
   *
   * @returns the URL of the callback, and the address that the browser has proven.
   * @throws SignInRefusal `unknown_email_code`
   */
  async enter(at: AtEmailLink, typed: string): Promise<{ readonly url: string; readonly address: string }> {
    const { store, oneTime, provider } = this.#deps
    const begun = await this.#find(at)
    const code = parseTypedCode(typed, codeLength)
    const presented = { purpose: 'email_link', value: valueOf(code ?? '', at), browser: at.browser } as const
    const found = code === null ? null : await store.write((tx) => oneTime.consume<AddressProof>(tx, presented))
    if (found === null) throw new SignInRefusal('unknown_email_code')
    const url = await provider.callbackUrl(found.data, ownSignInOf(begun, at))
    return { url, address: found.data.address }
  }

  #find({ state, browser }: AtEmailLink): Promise<Begun> {
    return this.#deps.states.require(state, browser, emailLinkName)
  }

  async #announce(link: { readonly email: string; readonly url: string; readonly code: string }, language: string) {
    const { registry, log, mail, isDevelopment } = this.#deps
    const isHandled = registry.eventHandlers('sign_in_link_requested').length > 0
    if (!isHandled && isDevelopment)
      log.info({ url: link.url, code: link.code }, 'Open this URL, or enter the code, to sign in')
    if (!isHandled && mail.isConnected) return mail.post({ kind: 'sign_in_link', ...link, language })
    if (isHandled ? await fireForConsent(registry, log, 'sign_in_link_requested', link) : isDevelopment) return
    throw new ServiceError('provider_failed', 'Cannot send the e-mail now. Please try again later.', {
      reason: 'A handler of sign_in_link_requested failed',
    })
  }
}

/** The code counts only in its sign-in, so that short codes cannot be guessed across sign-ins. */
function valueOf(code: string, { state }: AtEmailLink): string {
  return `${code}.${state}`
}
