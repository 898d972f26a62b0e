/** What the routes of an actor's pages share: the values of every page, showing one, and going on after a form. */
import type { Identity } from '../../app/identity.ts'
import type { ServiceError } from '../../errors.ts'
import type { ActorPageValues, Html } from './values.ts'
import { type HttpResponse, html, redirect } from '../../http/edge/response.ts'
import { type FlashMessage, noticeCookie, noticeOf, noticeShown } from '../../http/dispatch/flash-messages.ts'
import type { Params } from '../../http/edge/params.ts'
import { parseRedirectTarget } from '../../http/dispatch/redirect-target.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { urlOf } from '../../http/dispatch/urls.ts'

/** What every page of an actor needs. */
export interface PageDeps {
  readonly identity: Identity
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
}

/** @param path Of the page below `/<actor>/www`: empty, or beginning with a slash. */
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
    // A browser keeps Basic credentials until it is closed, whatever the service says.
    can_sign_out: caller.kind === 'creator' && caller.via !== 'basic',
    notice: noticeOf(request),
    error: error?.message ?? null,
    error_field: error?.detail.field ?? null,
  }
}

export async function showPage({ request }: PageExchange, page: Html, status = 200): Promise<HttpResponse> {
  const answer = html(status, await page)
  // A HEAD shows nothing, so the flash message waits for the GET.
  const isShown = request.method !== 'HEAD' && noticeOf(request) !== null
  return isShown ? { ...answer, cookies: [noticeShown] } : answer
}

/**
 * After a form was taken: on to the page that the form names in `redirect_to`, else to `path` below `/<actor>/www`. The
 * browser never leaves the service.
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
