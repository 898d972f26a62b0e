/** Helpers for the routes of an actor's pages: common values, rendering, and the redirect after a form. */
import type { Identity } from '../../app/identity.ts'
import type { ServiceError } from '../../errors.ts'
import type { ActorPageValues, Html } from './values.ts'
import { type HttpResponse, html, redirect } from '../../http/edge/response.ts'
import { type FlashMessage, noticeCookie, noticeOf, noticeShown } from '../../http/dispatch/flash-messages.ts'
import type { Params } from '../../http/edge/params.ts'
import { parseRedirectTarget } from '../../http/dispatch/redirect-target.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { urlOf } from '../../http/dispatch/urls.ts'

/** Deps of every page of an actor. */
export interface PageDeps {
  readonly identity: Identity
  /** Public URL without a trailing slash. */
  readonly baseUrl: string
  /** Path prefix of the service; empty without one. */
  readonly basePath: string
}

/** @param path Path of the page below `/<actor>/www`: empty, or beginning with a slash. */
export function pageValues(
  deps: PageDeps,
  { request, actor, caller, csrfToken }: PageExchange,
  path: string,
  error: ServiceError | null | undefined = null,
): ActorPageValues {
  const root = `${deps.basePath}/${actor.id}`
  return {
    base_path: deps.basePath,
    name: deps.identity.name,
    id: actor.id,
    creator: actor.creator,
    url: `${urlOf(deps, actor.id)}/www${path}`,
    actor_root: root,
    actor_www: `${root}/www`,
    csrf_token: csrfToken,
    // A browser keeps Basic credentials until it is closed, so the service cannot sign it out.
    can_sign_out: caller.kind === 'creator' && caller.via !== 'basic',
    notice: noticeOf(request),
    error: error?.message ?? null,
    error_field: error?.detail.field ?? null,
  }
}

export async function showPage({ request }: PageExchange, page: Html, status = 200): Promise<HttpResponse> {
  const answer = html(status, await page)
  // HEAD displays nothing, so the flash message is kept for the next GET.
  const isShown = request.method !== 'HEAD' && noticeOf(request) !== null
  return isShown ? { ...answer, cookies: [noticeShown] } : answer
}

/**
 * Redirects after an accepted form: to the page in `redirect_to`, else to `path` below `/<actor>/www`. The target is always
 * on this service, which prevents open redirects.
 */
export function goOn(
  deps: PageDeps,
  { actor }: PageExchange,
  form: Params,
  path: string,
  notice: FlashMessage,
): HttpResponse {
  const wanted = parseRedirectTarget(form.get('redirect_to') ?? '', deps)
  const target = wanted ?? `${deps.basePath}/${actor.id}/www${path}`
  return { ...redirect(302, new URL(target, deps.baseUrl).href), cookies: [noticeCookie(notice)] }
}
