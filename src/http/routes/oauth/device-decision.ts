/** The owner's decision on the program of a device: the browser shows the result, and the device fetches its tokens. */
import type { Actor } from '../../../actor/actor.ts'
import type { Consents, GivenConsent } from '../../../authorization-server/consents.ts'
import type { DeviceCodes } from '../../../authorization-server/device/device-codes.ts'
import type { WaitingDevice } from '../../../authorization-server/device/waiting-device.ts'
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../../pages/shared/site.ts'
import type { PageSet } from '../../../pages/shared/page-set.ts'
import { type HttpResponse, html } from '../../edge/response.ts'
import type { HttpRequest } from '../../edge/request.ts'

export interface DeviceDecisionDeps extends SiteDeps {
  readonly consents: Consents
  readonly devices: DeviceCodes
  readonly pages: Pick<PageSet, 'device'>
}

export interface DeviceApproval {
  readonly owner: Actor
  readonly given: GivenConsent
  readonly device: WaitingDevice
}

/** @throws OAuthError `access_denied`, `invalid_target` */
export async function approveDevice(
  deps: DeviceDecisionDeps,
  request: HttpRequest,
  { owner, given, device }: DeviceApproval,
): Promise<HttpResponse> {
  try {
    await deps.consents.approveDevice(owner, given, device)
    return await result(deps, request, 'approved')
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'expired_token') return result(deps, request, 'expired')
    throw error
  }
}

export async function denyDevice(
  deps: DeviceDecisionDeps,
  request: HttpRequest,
  device: WaitingDevice,
): Promise<HttpResponse> {
  return result(deps, request, (await deps.devices.deny(device)) ? 'denied' : 'expired')
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
