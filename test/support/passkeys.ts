/** A device with passkeys: the virtual authenticator of Chromium. */
import type { CDPSession } from 'playwright-core'
import { openPage, type WatchedPage } from './browser.ts'

export class PasskeyDevice {
  readonly page: WatchedPage
  readonly #session: CDPSession
  readonly #id: string

  constructor(page: WatchedPage, session: CDPSession, id: string) {
    this.page = page
    this.#session = session
    this.#id = id
  }

  /** Whether the person confirms with a fingerprint. Without it, the device proves only its presence. */
  async confirms(isConfirming: boolean): Promise<void> {
    await this.#session.send('WebAuthn.setUserVerified', { authenticatorId: this.#id, isUserVerified: isConfirming })
  }

  /** Removes all passkeys from the device. */
  async forget(): Promise<void> {
    await this.#session.send('WebAuthn.clearCredentials', { authenticatorId: this.#id })
  }

  /** The ids of the passkeys on the device, in base64. */
  async passkeys(): Promise<readonly string[]> {
    const { credentials } = await this.#session.send('WebAuthn.getCredentials', { authenticatorId: this.#id })
    return credentials.map(({ credentialId }) => credentialId)
  }
}

/** Opens a browser on a device of its own, which confirms each request by fingerprint. */
export async function openDevice(options: Parameters<typeof openPage>[0] = {}): Promise<PasskeyDevice> {
  const page = await openPage(options)
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return new PasskeyDevice(page, session, authenticatorId)
}
