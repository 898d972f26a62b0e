/** Device authorization (RFC 8628): the program gets its codes, and the owner enters one in a browser. */
import type { DeviceCodes } from '../../authorization-server/device/device-codes.ts'
import { deviceSeconds, pollSeconds } from '../../authorization-server/device/device-codes.ts'
import type { TokenEndpoint } from '../../authorization-server/token-endpoint.ts'
import { ServiceError } from '../../errors.ts'
import { optional, stringField } from '../../json/fields.ts'
import { errorText, pageRefusal } from '../shared/error-text.ts'
import { qrCode } from './qr-code.ts'
import { inLanguage, siteValues } from '../shared/site.ts'
import type { PageSet } from '../shared/page-set.ts'
import type { Purge } from '../../token/purge.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { formBody } from '../../http/dispatch/request-body.ts'
import type { Exchange, Route, VisitorExchange } from '../../http/dispatch/route.ts'
import { anyValue, errorResponses } from '../../http/dispatch/schemas.ts'
import { browserCookie } from '../../http/edge/cookies/cookies.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import type { AuthorizeRouteDeps } from './authorize.ts'
import { type ConsentPageDeps, showConsentPage } from './consent-page.ts'
import { authorizationOf, inOAuthWords, oauthJson, onPage } from '../../http/dispatch/oauth/oauth-response.ts'
import { oauthForm, oauthRefusals } from '../../http/dispatch/oauth/oauth-schemas.ts'
import { signedInOwner } from './signed-in-owner.ts'

export interface DeviceRouteDeps extends AuthorizeRouteDeps {
  readonly devices: DeviceCodes
  readonly tokenEndpoint: TokenEndpoint
  readonly purge: Purge
  readonly pages: ConsentPageDeps['pages'] & Pick<PageSet, 'device'>
}

export function deviceRoutes(deps: DeviceRouteDeps): readonly Route[] {
  return [...programRoutes(deps), ...ownerRoutes(deps)]
}

/** Routes for the program on the device. */
function programRoutes(deps: DeviceRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'deviceAuthorization',
      method: 'POST',
      path: '/oauth/device_authorization',
      access: 'oauth-client',
      cors: 'server',
      limit: ['authorize/source', 'authorize/total'],
      summary: 'Codes for a device without a browser (RFC 8628 section 3.1)',
      request: oauthForm('client_id', 'scope', 'resource'),
      unknownQuery: 'ignored',
      responses: { 200: { text: 'The codes', schema: anyValue }, 401: 'invalid_client', ...oauthRefusals },
      handler: ({ request, body }) =>
        inOAuthWords(async () => {
          const device = await deps.tokenEndpoint.authorizeDevice(await body(), authorizationOf(request))
          deps.purge.occasionally()
          return codes(deps, device)
        }),
    }),
    defineRoute({
      id: 'deviceQrCode',
      method: 'GET',
      path: '/oauth/device/qr',
      access: 'visitor',
      limit: ['user_code/source', 'user_code/total'],
      summary: 'A QR code of the page with the code of a device, as a picture (SVG) to show on its screen',
      query: { user_code: stringField('The code of the device') },
      responses: { 200: { text: 'The picture', type: 'image/svg+xml' }, ...errorResponses(400, 429) },
      handler: async ({ query }) => ({
        status: 200,
        headers: { 'Content-Type': 'image/svg+xml' },
        body: String(await qrCode(pageWith(deps, codeIn(query.user_code)), query.user_code)),
      }),
    }),
  ]
}

/** Routes for the browser of the owner. */
function ownerRoutes(deps: DeviceRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'devicePage',
      method: 'GET',
      path: '/oauth/device',
      access: 'visitor',
      limit: ['user_code/source', 'user_code/total'],
      page: true,
      summary: 'The page where the owner enters the code of a device (RFC 8628 section 3.3)',
      query: { user_code: optional(stringField('The code that the device shows')) },
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(429) },
      handler: (exchange) => ask(deps, exchange, exchange.query.user_code ?? ''),
    }),
    defineRoute({
      id: 'deviceForm',
      method: 'POST',
      path: '/oauth/device',
      access: 'visitor',
      limit: ['user_code/source', 'user_code/total'],
      page: true,
      // A form of another site leads to the page, as a link does.
      takesForeignPosts: true,
      summary: 'Asks the owner to authorize the program of a device',
      request: formBody({ user_code: optional(stringField('The code that the device shows')) }),
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 403, 415, 429) },
      handler: async (exchange) => enter(deps, exchange, (await exchange.body()).user_code ?? ''),
    }),
  ]
}

function codes(
  deps: DeviceRouteDeps,
  { deviceCode, userCode }: Awaited<ReturnType<TokenEndpoint['authorizeDevice']>>,
): HttpResponse {
  const page = `${deps.baseUrl}/oauth/device`
  return oauthJson(200, {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: pageWith(deps, userCode),
    verification_qr_uri: `${page}/qr?user_code=${userCode}`,
    expires_in: deviceSeconds,
    interval: pollSeconds,
  })
}

function pageWith({ baseUrl }: DeviceRouteDeps, userCode: string): string {
  return `${baseUrl}/oauth/device?user_code=${userCode}`
}

/** @throws ServiceError `bad_request` for a text that no device shows. */
function codeIn(text: string): string {
  if (/^[0-9a-z]{4}-[0-9a-z]{4}$/.test(text)) return text
  throw new ServiceError(
    'bad_request',
    'Cannot draw the QR code: user_code must have the form of `user_code`, such as k7dm-4x2p',
  )
}

async function ask(
  deps: DeviceRouteDeps,
  { request }: Pick<Exchange, 'request'>,
  code: string,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const language = deps.languages.of(request)
  const page = await deps.pages.device({
    ...siteValues(deps, language),
    action: `${deps.basePath}/oauth/device`,
    user_code: code.slice(0, maxShown),
    error: error === null ? null : errorText(error, language),
    outcome: null,
  })
  return inLanguage(html(error?.status ?? 200, page), language)
}

/** Longest code that the page repeats, in characters. */
const maxShown = 20

async function enter(deps: DeviceRouteDeps, exchange: VisitorExchange, code: string): Promise<HttpResponse> {
  const { request, visitor } = exchange
  // Another site must not lead the person past the page that warns about codes of others (RFC 8628 section 5.4).
  if (visitor.site === 'other') return ask(deps, exchange, code)
  return onPage(request, async () => {
    const asked = await deps.devices.find(code)
    const client = asked === null ? null : await deps.clients.find(asked.clientId)
    if (asked === null || client === null) {
      const wrong = pageRefusal('bad_request', 'The code is wrong or has expired', ({ device }) => device.wrong)
      return ask(deps, exchange, code, wrong)
    }
    const mark = browserCookie(request)
    const owner = await signedInOwner(deps, visitor)
    const consent = await deps.consents.ask(asked, owner?.id ?? null, mark.value)
    const language = deps.languages.of(request)
    return { ...(await showConsentPage(deps, { client, asked, owner, consent, language })), cookies: [mark.cookie] }
  })
}
