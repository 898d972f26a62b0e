/** Helpers for the routes of an actor's pages: common values, rendering, and the redirect after a form. */
import type { ServiceError } from '../../errors.ts'
import { type CountDeps, countsOf } from './counts.ts'
import { errorText } from './error-text.ts'
import { inLanguage, type SiteDeps, siteValues } from './site.ts'
import type { ActorPageValues, Html } from './values.ts'
import { visible } from './visible.ts'
import { type HttpResponse, html, redirect } from '../../http/edge/response.ts'
import {
  type FlashMessage,
  noticeCookie,
  noticeOf,
  noticeShown,
  undoableNoticeCookie,
  undoableRequestOf,
} from '../../http/dispatch/flash-messages.ts'
import type { FreshSignInDeps } from '../../http/dispatch/fresh-sign-in.ts'
import type { History } from '../../history/history.ts'
import { currentContext } from '../../observe/context.ts'
import type { Params } from '../../http/edge/params.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { parseRedirectTarget, urlOf } from '../../http/dispatch/urls.ts'

/** Deps of every page of an actor. */
export interface PageDeps extends SiteDeps, CountDeps, FreshSignInDeps {
  /** Public URL without a trailing slash. */
  readonly baseUrl: string
  readonly history: Pick<History, 'hasRequest' | 'isOn'>
}

/** @param path Path of the page below `/<actor>/www`: empty, or beginning with a slash. */
export async function pageValues(
  deps: PageDeps,
  { request, actor, caller, csrfToken }: PageExchange,
  path: string,
  error: ServiceError | null | undefined = null,
): Promise<ActorPageValues> {
  const root = `${deps.basePath}/${actor.id}`
  const language = deps.languages.of(request)
  const notice = noticeOf(request)
  return {
    ...siteValues(deps, language),
    ...(await countsOf(deps, actor.id)),
    id: actor.id,
    creator: visible(actor.creator),
    url: `${urlOf(deps, actor.id)}/www${path}`,
    fresh_href: deps.freshSignIn.addressFor(caller, actor.id, `${root}/www${path}`),
    actor_root: root,
    actor_www: `${root}/www`,
    csrf_token: csrfToken,
    // A browser keeps Basic credentials until it is closed, so the service cannot sign it out.
    session: caller.kind === 'creator' ? (caller.session ?? null) : null,
    can_sign_out: caller.kind === 'creator' && caller.via !== 'basic',
    notice: notice === null ? null : language.messages.notices[notice],
    notice_undo: await undoableNow(deps, actor.id, undoableRequestOf(request)),
    error: error === null || error === undefined ? null : errorText(error, language),
    error_field: error?.detail.field ?? null,
  }
}

/** The request, if the history has its changes. */
async function undoableNow({ history }: PageDeps, actorId: string, requestId: string | null): Promise<string | null> {
  return requestId !== null && (await history.hasRequest(actorId, requestId)) ? requestId : null
}

/** @param deps Names the languages of the service. */
export async function showPage(
  { languages }: Pick<PageDeps, 'languages'>,
  { request }: Pick<PageExchange, 'request'>,
  page: Html,
  status = 200,
): Promise<HttpResponse> {
  const answer = inLanguage(html(status, await page), languages.of(request))
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

/** Like `goOn`, after a change of properties. The next page offers to take it back. */
export function goOnUndoable(
  deps: PageDeps,
  exchange: PageExchange,
  form: Params,
  path: string,
  notice: FlashMessage,
): HttpResponse {
  const response = goOn(deps, exchange, form, path, notice)
  const requestId = currentContext()?.requestId
  const isUndoable = deps.history.isOn && requestId !== undefined
  return isUndoable ? { ...response, cookies: [undoableNoticeCookie(notice, requestId)] } : response
}
