/** The owner's decision on the program of a device: the browser shows the result, and the device fetches its tokens. */
import type { Actor } from '../../actor/actor.ts'
import type { AskingPage, ConsentOnPage, Consents } from '../../authorization-server/consents.ts'
import type { DeviceCodes } from '../../authorization-server/device/device-codes.ts'
import type { WaitingDevice } from '../../authorization-server/device/waiting-device.ts'
import { OAuthError } from '../../authorization-server/oauth-error.ts'
import { inLanguage, type SiteDeps, siteValues } from '../shared/site.ts'
import type { PageSet } from '../shared/page-set.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import type { HttpRequest } from '../../http/edge/request.ts'

export interface DeviceDecisionDeps extends SiteDeps {
  readonly consents: Consents
  readonly devices: DeviceCodes
  readonly pages: Pick<PageSet, 'device'>
}

export interface DeviceApproval {
  readonly owner: Actor
  readonly consent: ConsentOnPage
  readonly device: WaitingDevice
}

/**
 * @returns null when the page was decided in another way.
 * @throws OAuthError `access_denied`, `invalid_target`
 */
export async function approveDevice(
  deps: DeviceDecisionDeps,
  request: HttpRequest,
  { owner, consent, device }: DeviceApproval,
): Promise<HttpResponse | null> {
  const isFirst = deps.consents.approveDevice(owner, consent, device)
  const outcome = await outcomeOf(isFirst, 'approved', () => deps.devices.wasDecided(device, owner.id))
  return outcome === null ? null : result(deps, request, outcome)
}

/** @returns null when the page was decided in another way. */
export async function denyDevice(
  deps: DeviceDecisionDeps,
  request: HttpRequest,
  {
    consent,
    device,
    error,
  }: { readonly consent: AskingPage; readonly device: WaitingDevice; readonly error: OAuthError },
): Promise<HttpResponse | null> {
  const isFirst = deps.consents.refuse(consent, error)
  const outcome = await outcomeOf(isFirst, 'denied', () => deps.devices.wasDecided(device, null))
  return outcome === null ? null : result(deps, request, outcome)
}

/** The owner may have decided in the same way on another page. */
async function outcomeOf<T extends string>(
  work: Promise<boolean>,
  decided: T,
  wasDecided: () => Promise<boolean>,
): Promise<T | 'expired' | null> {
  try {
    return (await work) ? decided : null
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'expired_token') throw error
    return (await wasDecided()) ? decided : 'expired'
  }
}

async function result(
  deps: DeviceDecisionDeps,
  request: HttpRequest,
  outcome: 'approved' | 'denied' | 'expired',
): Promise<HttpResponse> {
  const language = deps.languages.of(request)
  const page = await deps.pages.device({
    ...siteValues(deps, language),
    action: '',
    user_code: '',
    error: null,
    outcome,
  })
  return inLanguage(html(200, page), language)
}
