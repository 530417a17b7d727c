// The cases, the command line and the report. Part of bench.cc, which holds
// the network and the flows; kept apart only to keep both files short.
#pragma once

namespace
{
struct Case
{
    const char* name;
    double sim;  // default simulated seconds, for some 5 to 15 s of CPU
    uint32_t k;  // step-marking threshold; 0: NewReno without ECN, else DCTCP
    uint32_t iw; // initial window, packets
};
const Case CASES[] = {
    {"s1", 2, 0, 2},
    {"s2", 0.001, 15, 10},
    {"s3", 0.5, 65, 10},
    {"ft16", 0.1, 0, 2},
    {"ws144", 0.004, 65, 10},
};

// Flow sizes: linear interpolation in a table of (bytes, cumulative probability).
struct Cdf
{
    std::vector<std::pair<double, double>> rows{{0.0, 0.0}};
    explicit Cdf(const std::string& path)
    {
        std::ifstream f(path);
        std::string line;
        while (std::getline(f, line))
        {
            double s, p;
            std::istringstream in(line);
            if (line[0] != '#' && in >> s >> p)
                rows.emplace_back(s, p);
        }
    }
    double Mean() const
    {
        double m = 0;
        for (size_t i = 1; i < rows.size(); ++i)
            m += (rows[i].second - rows[i - 1].second) * (rows[i].first + rows[i - 1].first) / 2;
        return m;
    }
    uint64_t Draw(double u) const
    {
        for (size_t i = 1; i < rows.size(); ++i)
            if (u < rows[i].second)
                return uint64_t(std::ceil(rows[i - 1].first +
                                          (rows[i].first - rows[i - 1].first) * (u - rows[i - 1].second) /
                                              (rows[i].second - rows[i - 1].second)));
        return uint64_t(rows.back().first);
    }
};

void Configure(const Case& c)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(c.k ? TcpDctcp::GetTypeId() : TcpNewReno::GetTypeId()));
    if (!c.k) // plain NewReno recovery, not the proportional rate reduction ns-3 prefers
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    // 20 bytes of TCP header and no options but on the SYN: 1500 and 40 bytes.
    // SACK only with DCTCP, where it adds bytes to ACKs after a loss only: without
    // it ns-3.37 comes to a stand for good after the losses in the first round of s3.
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(c.k > 0));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(c.iw));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW));
}

int Run(int argc, char** argv)
{
    std::vector<std::string> pos;
    std::string sched = "ns3::PriorityQueueScheduler";
    std::string cdfPath = getenv("WEBSEARCH_CDF") ? getenv("WEBSEARCH_CDF") : "";
    for (int i = 1; i < argc; ++i)
    {
        std::string a = argv[i];
        if (a.rfind("cdf=", 0) == 0)
            cdfPath = a.substr(4);
        else if (a.rfind("sched=", 0) == 0)
            sched = a.substr(6);
        else
            pos.push_back(a);
    }
    const std::string name = pos.empty() ? "" : pos[0];
    auto fail = [&](const char* why) {
        std::printf("{\"peer\":\"ns3\",\"case\":\"%s\",\"error\":\"%s\"}\n", name.c_str(), why);
        return 0;
    };
    const Case* c = nullptr;
    for (const Case& x : CASES)
        if (name == x.name)
            c = &x;
    if (!c)
        return fail("unknown case");
    double sim = pos.size() > 1 ? atof(pos[1].c_str()) : 0;
    if (sim <= 0)
        sim = c->sim;
    uint32_t seed = pos.size() > 2 ? atoi(pos[2].c_str()) : 1;
    Lcg rnd(seed);
    RngSeedManager::SetSeed(seed + 1);
    GlobalValue::Bind("SchedulerType", TypeIdValue(TypeId::LookupByName(sched)));
    Configure(*c);

    std::unique_ptr<Net> net;
    std::vector<std::unique_ptr<Flow>> flows;
    auto flow = [&](uint32_t src, uint32_t dst) {
        flows.push_back(std::make_unique<Flow>(*net, src, dst, uint16_t(1000 + flows.size())));
        return flows.back().get();
    };
    auto permutation = [&](double jitter) {
        // a random cycle (Sattolo's shuffle): no host sends to itself
        uint32_t n = net->hosts.GetN();
        std::vector<uint32_t> p(n);
        for (uint32_t i = 0; i < n; ++i)
            p[i] = i;
        for (uint32_t i = n - 1; i > 0; --i)
            std::swap(p[i], p[rnd.Below(i)]);
        for (uint32_t i = 0; i < n; ++i)
        {
            double t = rnd.Uniform() * jitter;
            flow(i, p[i])->ConnectAt(t, FOREVER);
        }
    };
    uint32_t left = 0;
    std::function<void()> nextRound = [&] {
        left = flows.size();
        for (auto& f : flows)
            f->Give(17 * MSS);
    };

    if (name == "s1")
    {
        net = Star(41, 1e9, 50e-6, Port{100, 0});
        for (uint32_t i = 1; i <= 40; ++i)
        {
            double t = rnd.Uniform() * 1e-3;
            flow(i, 0)->ConnectAt(t, FOREVER);
        }
    }
    else if (name == "s2")
    {
        net = FatTree(8, 10e9, 1e-6, Port{100, c->k});
        permutation(10e-6);
    }
    else if (name == "ft16")
    {
        net = FatTree(4, 1e9, 10e-6, Port{100, 0});
        permutation(100e-6);
    }
    else if (name == "s3")
    {
        net = Star(41, 10e9, 1e-6, Port{250, c->k});
        for (uint32_t i = 1; i <= 40; ++i)
        {
            Flow* f = flow(i, 0);
            f->done = [&] {
                if (--left == 0)
                {
                    ++g_rounds;
                    nextRound();
                }
            };
            f->ConnectAt(0, 0);
        }
        Simulator::Schedule(MicroSeconds(100), nextRound); // once all are connected
    }
    else // ws144
    {
        Cdf cdf(cdfPath);
        if (cdf.rows.size() < 2)
            return fail("no size table: give cdf=PATH or WEBSEARCH_CDF");
        net = LeafSpine(9, 16, 4, 10e9, 40e9, 2e-6, Port{250, c->k});
        const uint32_t n = net->hosts.GetN();
        const double rate = 0.6 * 10e9 / 8 / cdf.Mean() * n;
        // Arrivals in the first two thirds (20 of 30 ms), then a tail to finish.
        for (double t = 0;;)
        {
            t -= std::log(1 - rnd.Uniform()) / rate;
            if (t >= sim * 2 / 3)
                break;
            uint32_t a = rnd.Below(n), b = rnd.Below(n - 1);
            b += b >= a;
            uint64_t size = cdf.Draw(rnd.Uniform());
            flow(a, b)->ConnectAt(t, size);
        }
    }

    Simulator::Stop(Seconds(sim));
    const double setup = UserSeconds();
    Simulator::Run();
    const double run = UserSeconds() - setup;

    std::printf("{\"peer\":\"ns3\",\"case\":\"%s\",\"sim_s\":%g,\"seed\":%u,\"pts\":%llu,\"goodput_bps\":%.6g,"
                "\"drops\":%llu,\"timeouts\":%llu,\"setup_user_s\":%.2f,\"run_user_s\":%.2f",
                name.c_str(), sim, seed, (unsigned long long)g_tx, g_rxBytes * 8.0 / sim,
                (unsigned long long)g_drops, (unsigned long long)g_timeouts, setup, run);
    if (name == "s3")
        std::printf(",\"rounds\":%u", g_rounds);
    if (name == "ws144")
        std::printf(",\"flows\":%zu,\"flows_done\":%u", flows.size(), g_flowsDone);
    std::printf("}\n");
    std::fflush(stdout);
    // Tearing the network down takes time that is no part of the simulation.
    _exit(0);
}
} // namespace

int main(int argc, char** argv) { return Run(argc, argv); }
