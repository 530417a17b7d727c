// ns-3 side of "make bench": one case, one JSON line on stdout.
//
//   bench CASE [SIM_S] [SEED] [cdf=PATH] [sched=ns3::MapScheduler]
//     CASE   s1 s2 s3 ft16 ws144;  SIM_S simulated seconds, 0 = the default
//
// Flow sizes of ws144 come from PATH or the environment's WEBSEARCH_CDF.
// Written for ns-3.37. ns-3 is set up to be as fast as its public interface
// allows (see net.h), so that the comparison is with ns-3 at its best. The
// scheduler is the fastest of ns-3's over all cases, not its default (Map).
#include "net.h"

namespace
{
std::unique_ptr<Net> Star(uint32_t n, double bps, double delay, Port bottleneck)
{
    auto net = std::make_unique<Net>(n, 1);
    for (uint32_t i = 0; i < n; ++i) // host 0 receives
        net->HostLink(i, 0, bps, delay, i == 0 ? bottleneck : HOST);
    return net;
}

std::unique_ptr<Net> FatTree(uint32_t k, double bps, double delay, Port port)
{
    uint32_t h = k / 2, pod = h * h;
    auto net = std::make_unique<Net>(k * pod, 2 * k * h + pod);
    // switch numbers: edges, then aggregations, then cores
    for (uint32_t p = 0; p < k; ++p)
        for (uint32_t e = 0; e < h; ++e)
        {
            uint32_t first = p * pod + e * h;
            for (uint32_t i = 0; i < h; ++i)
                net->HostLink(first + i, p * h + e, bps, delay, port);
            for (uint32_t a = 0; a < h; ++a)
                net->SwitchLink(p * h + e, k * h + p * h + a, bps, delay, port, first, h, first, h);
        }
    for (uint32_t p = 0; p < k; ++p)
        for (uint32_t a = 0; a < h; ++a)
            for (uint32_t j = 0; j < h; ++j)
                net->SwitchLink(k * h + p * h + a, 2 * k * h + a * h + j, bps, delay, port,
                                p * pod, pod, p * pod, pod);
    return net;
}

std::unique_ptr<Net> LeafSpine(uint32_t leaves, uint32_t perLeaf, uint32_t spines, double hostBps,
                               double upBps, double delay, Port port)
{
    auto net = std::make_unique<Net>(leaves * perLeaf, leaves + spines);
    for (uint32_t l = 0; l < leaves; ++l)
    {
        for (uint32_t i = 0; i < perLeaf; ++i)
            net->HostLink(l * perLeaf + i, l, hostBps, delay, port);
        for (uint32_t s = 0; s < spines; ++s)
            net->SwitchLink(l, leaves + s, upBps, delay, port, l * perLeaf, perLeaf, l * perLeaf, perLeaf);
    }
    return net;
}
} // namespace

#include "cases.h"
