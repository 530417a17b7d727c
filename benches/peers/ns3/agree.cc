// ns-3 side of "make peers": one set-up, one JSON line on stdout.
//
//   agree key=value ...
//
// N senders, one switch, one receiver (host 0), as forebay's many-to-one.
//
//   n=2 rate=1e9 arate=1e9 delay=50e-6 adelay=50e-6 buffer=100
//   queue=tail | step | red   step: k=20   red: min=50 max=100 pmax=0.02 weight=0.002 gentle=0
//
//   tcp=NewReno | Cubic | Dctcp  ecn=0 minrto=1 window=1000 iw=10 delack=2 mss=1460 timestamps=0
//
//   end=1.0 warmup=0.1 seed=1
//   starts=FILE  lines "connection seconds packets"; 0 packets: endless
//   block=45 rounds=20  instead of starts: barrier rounds of that many packets a sender
//   example=1    the network of ns-3's dctcp-example (Alizadeh et al. 2010, Fig. 17) instead
//
// The buffer counts the packet on the wire, as forebay's does; so does the mean
// queue. Everything not named is ns-3's default: SACK, proportional rate
// reduction, HyStart. Written for ns-3.37.
#include "net.h"

#include <map>

namespace
{
std::map<std::string, std::string> g_opt = {
    {"n", "2"}, {"rate", "1e9"}, {"arate", "1e9"}, {"delay", "50e-6"}, {"adelay", "50e-6"}, {"buffer", "100"},
    {"queue", "tail"}, {"k", "20"}, {"min", "50"}, {"max", "100"}, {"pmax", "0.02"}, {"weight", "0.002"},
    {"gentle", "0"}, {"tcp", "NewReno"}, {"ecn", "0"}, {"minrto", "1"}, {"window", "1000"}, {"iw", "10"},
    {"delack", "2"}, {"mss", "1460"}, {"timestamps", "0"}, {"end", "1"}, {"warmup", "0"}, {"seed", "1"},
    {"starts", ""}, {"block", "0"}, {"rounds", "0"}, {"example", "0"}};
double Num(const char* key) { return atof(g_opt[key].c_str()); }

void Configure()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::Tcp" + g_opt["tcp"]));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(Num("ecn") > 0 ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(Num("timestamps") > 0));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(Num("minrto"))));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(uint32_t(Num("mss"))));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(uint32_t(Num("iw"))));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(uint32_t(Num("delack"))));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW));
}

Port Bottleneck(Watch* watch)
{
    const uint32_t limit = uint32_t(Num("buffer"));
    // One packet is on the wire, and with a queue disc the device holds one more.
    Port p{limit - 1, 0};
    if (g_opt["queue"] == "step")
        p = Port{limit - 2, uint32_t(Num("k"))};
    if (g_opt["queue"] == "red")
        p = Port{limit - 2, uint32_t(Num("max")), Num("min"), Num("pmax"), Num("weight"), Num("gentle") > 0};
    p.watch = watch;
    return p;
}

int Run(int argc, char** argv)
{
    for (int i = 1; i < argc; ++i)
    {
        std::string a = argv[i];
        size_t eq = a.find('=');
        if (eq == std::string::npos || !g_opt.count(a.substr(0, eq)))
        {
            std::fprintf(stderr, "agree: %s?\n", argv[i]);
            return 2;
        }
        g_opt[a.substr(0, eq)] = a.substr(eq + 1);
    }
    RngSeedManager::SetSeed(uint32_t(Num("seed")) + 1);
    Configure();
    Watch watch, upper;
    std::unique_ptr<Net> net;
    std::vector<std::unique_ptr<Flow>> flows;
    auto flow = [&](uint32_t src, uint32_t dst) {
        flows.push_back(std::make_unique<Flow>(*net, src, dst, uint16_t(1000 + flows.size())));
    };
    if (Num("example") > 0)
    {
        // Host 0 is R1, then 10 of S1 and 20 of S2 on the first switch, 10 of S3 and 20 of R2 on the second.
        net = std::make_unique<Net>(61, 2);
        Port slow{2666, 60, 20, 0.02, 1, true}, fast{2666, 150, 50, 0.02, 1, true};
        Port r1 = slow, t1 = fast;
        r1.watch = &watch;
        t1.watch = &upper;
        for (uint32_t i = 0; i < 61; ++i)
            net->HostLink(i, i >= 1 && i <= 30 ? 0 : 1, 1e9, 10e-6, i == 0 ? r1 : slow);
        net->SwitchLink(0, 1, 10e9, 10e-6, t1, 1, 30, 1, 30);
        for (uint32_t i = 0; i < 40; ++i)
            flow(1 + i, i >= 10 && i < 30 ? 31 + i : 0);
    }
    else
    {
        const uint32_t n = uint32_t(Num("n"));
        net = std::make_unique<Net>(n + 1, 1);
        net->HostLink(0, 0, Num("rate"), Num("delay"), Bottleneck(&watch));
        for (uint32_t i = 1; i <= n; ++i)
        {
            net->HostLink(i, 0, Num("arate"), Num("adelay"), HOST);
            flow(i, 0);
        }
    }
    const uint32_t rounds = uint32_t(Num("rounds"));
    uint32_t left = 0;
    double began = 0, ended = 0;
    std::function<void()> nextRound = [&] {
        left = flows.size();
        for (auto& f : flows)
            f->Give(uint64_t(Num("block")) * MSS);
    };
    if (rounds)
    {
        for (auto& f : flows)
        {
            f->done = [&] {
                if (--left > 0)
                    return;
                ended = Simulator::Now().GetSeconds();
                if (++g_rounds < rounds)
                    nextRound();
                else
                    Simulator::Stop();
            };
            f->ConnectAt(0, 0);
        }
        began = 0.01; // once all are connected
        Simulator::Schedule(Seconds(began), nextRound);
    }
    else
    {
        std::ifstream in(g_opt["starts"]);
        uint32_t c;
        double at, packets;
        while (in >> c >> at >> packets)
            flows.at(c)->ConnectAt(at, packets > 0 ? uint64_t(packets) * MSS : FOREVER);
    }
    const double warmup = Num("warmup");
    std::vector<uint64_t> before(flows.size());
    Simulator::Schedule(Seconds(warmup), [&] {
        watch.Reset();
        upper.Reset();
        for (size_t i = 0; i < flows.size(); ++i)
            before[i] = flows[i]->received;
    });
    Simulator::Stop(Seconds(Num("end")));
    Simulator::Run();

    const double span = rounds ? ended - began : Num("end") - warmup;
    double sum = 0, squares = 0, low = 1e30, high = 0, timeouts = 0;
    double group[3] = {0, 0, 0}; // of the example: S1, S2, S3
    for (size_t i = 0; i < flows.size(); ++i)
    {
        double got = double(flows[i]->received - (rounds ? 0 : before[i])) * 8 / span;
        sum += got;
        squares += got * got;
        low = std::min(low, got);
        high = std::max(high, got);
        timeouts += flows[i]->timeouts;
        group[i < 10 ? 0 : i < 30 ? 1 : 2] += got / 1e6;
    }
    std::printf("{\"seconds\":%g,\"goodput\":%.5f,\"jain\":%.4f,\"ratio\":%.4f,\"queue\":%.3f,\"busy\":%.4f,\"drops\":%llu,"
                "\"timeouts\":%.0f,\"rounds\":%u,\"upper\":%.3f,\"s1\":%.2f,\"s2\":%.2f,\"s3\":%.2f}\n",
                span, sum / Num("rate"), squares > 0 ? sum * sum / flows.size() / squares : 0, low > 0 ? high / low : 1e9,
                watch.Mean(), watch.sent * 8 / Num("rate") / span, (unsigned long long)watch.drops, timeouts, g_rounds,
                upper.Mean(), group[0] / 10, group[1] / 20, group[2] / 10);
    std::fflush(stdout);
    _exit(0);
}
} // namespace

int main(int argc, char** argv) { return Run(argc, argv); }
