/** All paths below `/actors`. Next.js calls the function that has the name of the method. */
import { app } from '../../../actors.ts'

/** The service needs Node.js. No response may come from a build. */
export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

const serve = (request: Request): Promise<Response> => app.fetch(request)

export { serve as DELETE, serve as GET, serve as HEAD, serve as OPTIONS, serve as PATCH, serve as POST, serve as PUT }
